// SPDX-License-Identifier: Apache-2.0
// Checks of option texts that CLI11 reads too kindly: it takes -1 and 2^64 for an unsigned number, 010 for eight, an
// empty item of a list for none.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace cachalot {

// For ->transform(): decimal digits only, and the number they write is from `least` to `most`.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// For ->check(): any text but the empty one, which is what a shell makes of a variable that is not set.
CLI::Validator not_empty();

// For ->check(): a number from `least` (or above it) to `most`, in decimal digits, with a fraction or an exponent.
enum class Least { allowed, excluded };
CLI::Validator real_number(double least, double most, Least border = Least::allowed);

// "ID=VALUE": a token id and a number from `least` to `most`. Errc::usage says what is expected.
struct IdAndValue {
  std::int64_t id;
  double value;
};
Expected<IdAndValue> parse_id_and_value(std::string_view text, double least, double most);

// The parts of a list written "a,b,c". A text without a comma is one part, an empty part is a part as well.
std::vector<std::string> split_at_commas(std::string_view list);

// "1,2,3" to numbers. `option` is named in the error, which is Errc::usage.
Expected<std::vector<std::int64_t>> parse_whole_numbers(std::string_view list, std::string_view option);

}  // namespace cachalot
