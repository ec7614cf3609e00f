// SPDX-License-Identifier: Apache-2.0
// IEEE half precision, read only: gate weights may come in it.
#pragma once

#include <bit>
#include <cstdint>

namespace cachalot {

struct f16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(f16 v) {
  const std::uint32_t sign = (v.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (v.bits >> 10) & 31u;
  const std::uint32_t mantissa = v.bits & 1023u;
  if (exponent == 0) {  // subnormals: mantissa · 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

}  // namespace cachalot
