// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/option_checks.h"

#include <fmt/core.h>

#include <charconv>

#include "base/byte_text.h"

namespace cachalot {
namespace {

template <class Number>
bool read(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, number);
  return done.ec == std::errc() && done.ptr == end;
}

}  // namespace

Expected<std::uint64_t> parse_whole_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  if (!read(text, number) || number < least || number > most)
    return fail(Errc::usage, "{:?} is no whole number from {} to {}", text, least, most);
  return number;
}

Expected<double> parse_real_number(std::string_view text, double least, double most, Least border) {
  double number = 0;
  const bool excluded = border == Least::excluded;
  // from_chars reads "nan" and "inf" as well; NaN fails every comparison.
  if (read(text, number) && (excluded ? number > least : number >= least) && number <= most) return number;
  if (excluded) return fail(Errc::usage, "{:?} is no number above {}, at most {}", text, least, most);
  return fail(Errc::usage, "{:?} is no number from {} to {}", text, least, most);
}

std::string bytes_expected(const std::string& text) {
  return parse_bytes(text) ? std::string() : fmt::format("{:?} is no number of bytes, such as 16GiB", text);
}

Expected<IdAndValue> parse_id_and_value(std::string_view text, double least, double most) {
  const std::size_t at = text.find('=');
  IdAndValue pair{};
  if (at == std::string_view::npos || !read(text.substr(0, at), pair.id) || pair.id < 0 ||
      !read(text.substr(at + 1), pair.value) || !(pair.value >= least && pair.value <= most)) {
    return fail(Errc::usage, "{:?} is no ID=VALUE, such as 17=-2.5: a token id, and a number from {} to {}", text,
                least, most);
  }
  return pair;
}

std::vector<std::string> split_at_commas(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Expected<std::vector<std::int64_t>> parse_whole_numbers(std::string_view list, std::string_view option) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split_at_commas(list)) {
    if (!read(part, numbers.emplace_back()))
      return fail(Errc::usage, "{}: {:?} is no whole number; a list is written 1,2,3", option, part);
  }
  return numbers;
}

}  // namespace cachalot
