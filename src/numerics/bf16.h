// SPDX-License-Identifier: Apache-2.0
// bf16: the upper half of an f32. Rounds to nearest, ties to even (spec 7); NaN stays NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace cachalot {

struct bf16 {
  std::uint16_t bits = 0;

  friend bool operator==(bf16, bf16) = default;  // bits, so that NaN == NaN and 0 != -0: what "bit-equal" means
};

constexpr float to_float(bf16 v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16); }

constexpr bf16 to_bf16(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};  // quiet NaN
  return {static_cast<std::uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16)};
}

// One rounding from double. Through f32 it would be two, which differ when f32 lands on a tie: so the f32 in between
// is rounded to odd, which keeps the information that something was cut off.
inline bf16 to_bf16(double v) {
  float f = static_cast<float>(v);
  if (std::isfinite(f) && static_cast<double>(f) != v) {
    auto u = std::bit_cast<std::uint32_t>(f);
    if (std::abs(static_cast<double>(f)) > std::abs(v)) --u;  // towards zero, then the sticky bit
    f = std::bit_cast<float>(u | 1u);
  }
  return to_bf16(f);
}

inline float round_bf16(float v) { return to_float(to_bf16(v)); }

}  // namespace cachalot
