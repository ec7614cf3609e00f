// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace cachalot {
namespace {

// Of a number that is no zero: the exponent of its first digit that counts, as in d.ddd·10^exponent. Only how it
// compares with the range of doubles matters, so that of a long exponent the first digits do.
std::int64_t decimal_exponent(std::string_view number) {
  const std::size_t end = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  // Of the digits before the point the last has exponent 0; the one behind it -1.
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  std::int64_t written = 0;
  for (const char c : number.substr(std::min(end + 1, number.size()))) {
    if (c >= '0' && c <= '9' && written < std::int64_t{1} << 40) written = written * 10 + (c - '0');
  }
  const bool negative = end + 1 < number.size() && number[end + 1] == '-';
  return (place > 0 ? place - 1 : place) + (negative ? -written : written);
}

double double_of(std::string_view number) {
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ec == std::errc::result_out_of_range) {  // too large or too small: from_chars does not tell
    value = decimal_exponent(number) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    if (number.starts_with('-')) value = -value;
  }
  return value;
}

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[40];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view shortest(buffer, static_cast<std::size_t>(written.ptr - buffer));  // d.ddde±XX
  std::string out;
  if (shortest.starts_with('-')) {
    out = "-";
    shortest.remove_prefix(1);
  }
  const std::size_t e = shortest.find('e');
  int exponent = 0;
  std::from_chars(shortest.data() + e + (shortest[e + 1] == '+' ? 2 : 1), written.ptr, exponent);
  if (exponent < -4 || exponent > 15) return out += shortest;
  std::string digits(1, shortest[0]);
  if (e > 2) digits += shortest.substr(2, e - 2);
  if (exponent < 0) return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
  return out + digits.substr(0, whole) + '.' + digits.substr(whole);
}

void append(std::string& out, const Json& value) {
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  switch (value.kind()) {
    case Json::Kind::null:
      out += "null";
      break;
    case Json::Kind::boolean:
      out += *value.as_bool() ? "true" : "false";
      break;
    case Json::Kind::number:
      out += json_number_text(*value.number_text());
      break;
    case Json::Kind::string:
      append_json_string(out, *value.as_string());
      break;
    case Json::Kind::array:
      out += '[';
      for (const Json& item : value.items()) {
        separate();
        append(out, item);
      }
      out += ']';
      break;
    case Json::Kind::object:
      out += '{';
      for (const Json::Member& member : value.members()) {
        separate();
        append_json_string(out, member.key);
        out += ": ";
        append(out, member.value);
      }
      out += '}';
      break;
  }
}

}  // namespace

std::string json_number_text(std::string_view number) {
  if (number == "NaN" || number.ends_with("Infinity")) return std::string(number);
  if (number.find_first_of(".eE") != std::string_view::npos) return double_text(double_of(number));
  return std::string(number == "-0" ? "0" : number);
}

std::string json_text(const Json& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace cachalot
