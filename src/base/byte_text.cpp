// SPDX-License-Identifier: Apache-2.0
#include "base/byte_text.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

namespace cachalot {

std::string byte_text(std::int64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (number.ec != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(number.ptr - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!unit.empty() && unit != "B") {
    const std::size_t power = std::string_view("KMGTPE").find(unit[0]);
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "iB" && rest != "B")) return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) value *= rest == "B" ? 1000 : 1024;
  }
  if (value >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace cachalot
