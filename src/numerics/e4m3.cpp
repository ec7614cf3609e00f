// SPDX-License-Identifier: Apache-2.0
#include "numerics/e4m3.h"

#include <array>
#include <bit>
#include <cmath>

namespace cachalot {
namespace {

constexpr float decode(unsigned code) {
  const unsigned exponent = (code >> 3) & 15u;
  const unsigned mantissa = code & 7u;
  const std::uint32_t sign = (code & 0x80u) << 24;
  if ((code & 0x7Fu) == 0x7Fu) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (exponent == 0) {  // subnormals: mantissa · 2^-9
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 120u) << 23) | (mantissa << 20));
}

constexpr auto table = [] {
  std::array<float, 256> t{};
  for (unsigned c = 0; c < 256; ++c) t[c] = decode(c);
  return t;
}();

}  // namespace

float to_float(e4m3 v) { return table[v.code]; }

e4m3 to_e4m3(float v) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(v) ? 0x80 : 0);
  if (std::isnan(v)) return {static_cast<std::uint8_t>(sign | 0x7F)};
  const float magnitude = std::abs(v);
  if (magnitude >= e4m3_max) return {static_cast<std::uint8_t>(sign | 0x7E)};
  if (magnitude < 0x1p-6f) {  // subnormal codes are multiples of 2^-9; 8 of them is the first normal code, which fits
    return {static_cast<std::uint8_t>(sign | static_cast<unsigned>(std::nearbyint(magnitude * 0x1p9f)))};
  }
  auto u = std::bit_cast<std::uint32_t>(magnitude);
  u += 0x7FFFFu + ((u >> 20) & 1u);  // keep three bits of mantissa, nearest, ties to even; a carry moves the exponent
  return {static_cast<std::uint8_t>(sign | ((u >> 20) - (120u << 3)))};
}

}  // namespace cachalot
