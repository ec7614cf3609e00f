// SPDX-License-Identifier: Apache-2.0
// Numbers and lists as they are written in an option. Nothing is taken kindly: no sign before a whole number, no octal,
// no empty item of a list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "cli/command_line/command.h"

namespace cachalot {

// Decimal digits only, and the number they write is from `least` to `most`.
Expected<std::uint64_t> parse_whole_number(std::string_view text, std::uint64_t least, std::uint64_t most);

// A number from `least` (or above it) to `most`, in decimal digits, with a fraction or an exponent.
Expected<double> parse_real_number(std::string_view text, double least, double most, Least border = Least::allowed);

// "16GiB", as a check of an option.
std::string bytes_expected(const std::string& text);

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
