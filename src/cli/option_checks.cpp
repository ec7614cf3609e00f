// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.h"

#include <fmt/format.h>

#include <charconv>

namespace cachalot {
namespace {

template <class Number>
bool read(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, number);
  return done.ec == std::errc() && done.ptr == end;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    if (!read(text, number) || number < least || number > most)
      return fmt::format("{:?} is no whole number from {} to {}", text, least, most);
    text = fmt::format("{}", number);  // without leading zeros, which would make it octal
    return {};
  };
  return {check, "", "whole number"};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) -> std::string {
    return text.empty() ? "an empty text is given" : "";
  };
  return {check, "", "not empty"};
}

CLI::Validator real_number(double least, double most, Least border) {
  const auto check = [least, most, border](std::string& text) -> std::string {
    double number = 0;
    const bool excluded = border == Least::excluded;
    // from_chars reads "nan" and "inf" as well; NaN fails every comparison.
    if (read(text, number) && (excluded ? number > least : number >= least) && number <= most) return {};
    return excluded ? fmt::format("{:?} is no number above {}, at most {}", text, least, most)
                    : fmt::format("{:?} is no number from {} to {}", text, least, most);
  };
  return {check, "", "number"};
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
