// SPDX-License-Identifier: Apache-2.0
// fp4 e2m1 (spec 7): 0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives, in four bits. Two codes a byte, the low nibble is
// the even index.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace cachalot {

constexpr float e2m1_max = 6.0f;

constexpr std::array<float, 16> e2m1_value = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                              -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

// The code of index i in a packed row.
constexpr unsigned e2m1_code(const std::uint8_t* packed, std::int64_t i) {
  return (i & 1) == 0 ? packed[i / 2] & 15u : packed[i / 2] >> 4;
}

// Nearest, ties to the even code, saturating at ±6. There is no NaN: it gives ±0.
inline unsigned to_e2m1(float v) {
  const unsigned sign = std::signbit(v) ? 8u : 0u;
  const float m = std::abs(v);
  // The midpoints, each with the side an exact tie goes to: the neighbour with the even code.
  unsigned code = 0;
  if (m > 0.25f) code = 1;
  if (m >= 0.75f) code = 2;
  if (m > 1.25f) code = 3;
  if (m >= 1.75f) code = 4;
  if (m > 2.5f) code = 5;
  if (m >= 3.5f) code = 6;
  if (m > 5.0f) code = 7;
  return sign | code;
}

}  // namespace cachalot
