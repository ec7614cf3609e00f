// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cachalot {

// "15.7 MiB": three or four digits, and the whole number below 1 KiB.
std::string byte_text(std::int64_t bytes);

// "4096", "15.7 MiB", "16GiB", "16G" (as the system's tools have it: 2^30) or "16GB" (10^9). Nothing for other texts
// and for what does not fit.
std::optional<std::int64_t> parse_bytes(std::string_view text);

}  // namespace cachalot
