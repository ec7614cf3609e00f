// SPDX-License-Identifier: Apache-2.0
// Block scales "ue8m0" (spec 7): 2^(code - 127), code 255 is NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace cachalot {

struct e8m0 {
  std::uint8_t code = 127;
};

// Exact; code 0 is 2^-127, a subnormal of f32.
constexpr float to_float(e8m0 v) {
  if (v.code == 255) return std::numeric_limits<float>::quiet_NaN();
  if (v.code == 0) return std::bit_cast<float>(0x00400000u);
  return std::bit_cast<float>(static_cast<std::uint32_t>(v.code) << 23);
}

// The scale 2^⌈log2 v⌉ of a positive v, by its exponent bits: any nonzero mantissa rounds the exponent up.
constexpr e8m0 ceil_e8m0(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  const std::uint32_t exponent = (u >> 23) & 0xFFu;
  return {static_cast<std::uint8_t>(exponent + ((u & 0x7FFFFFu) != 0 ? 1u : 0u))};
}

}  // namespace cachalot
