// SPDX-License-Identifier: Apache-2.0
// fp8 e4m3 (spec 7): bias 7, largest 448, no infinity, NaN 0x7F and 0xFF, subnormals down to 2^-9.
#pragma once

#include <cstdint>

namespace cachalot {

struct e4m3 {
  std::uint8_t code = 0;
};

constexpr float e4m3_max = 448.0f;

// Exact.
float to_float(e4m3 v);

// Nearest, ties to the even code, saturating at ±448; NaN gives 0x7F (0xFF with the sign set).
e4m3 to_e4m3(float v);

}  // namespace cachalot
