// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cachalot {

// "15.7 MiB": three or four digits, and the whole number below 1 KiB.
std::string byte_text(std::int64_t bytes);

}  // namespace cachalot
