// SPDX-License-Identifier: Apache-2.0
#include "numerics/bf16.h"

#include <gtest/gtest.h>

#include <limits>

namespace cachalot::bf16_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float value(unsigned bits) { return to_float(bf16{static_cast<std::uint16_t>(bits)}); }

TEST(Bf16, EveryCodeSurvivesTheWayToFloatAndBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float v = value(bits);
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(round_bf16(v))) << bits;
      continue;
    }
    ASSERT_EQ(to_bf16(v).bits, bits);
    ASSERT_EQ(to_bf16(static_cast<double>(v)).bits, bits);
  }
}

// Between each finite code and the next one: the middle goes to the even code, all else to the nearer one, from f32
// and from double alike.
TEST(Bf16, RoundsToTheNearestWithTiesToEvenBetweenAllNeighbours) {
  for (unsigned sign = 0; sign <= 0x8000u; sign += 0x8000u) {
    for (unsigned low = 0; low < 0x7F7F; ++low) {
      const double a = value(sign | low);
      const double b = value(sign | (low + 1));
      const double middle = (a + b) / 2;  // exact in f32
      const unsigned even = sign | (low % 2 == 0 ? low : low + 1);
      ASSERT_EQ(to_bf16(static_cast<float>(middle)).bits, even) << a;
      ASSERT_EQ(to_bf16(middle).bits, even) << a;
      ASSERT_EQ(to_bf16(std::nextafter(middle, a)).bits, sign | low) << a;
      ASSERT_EQ(to_bf16(std::nextafter(middle, b)).bits, sign | (low + 1)) << a;
      const auto m = static_cast<float>(middle);
      ASSERT_EQ(to_bf16(std::nextafter(m, static_cast<float>(a))).bits, sign | low) << a;
      ASSERT_EQ(to_bf16(std::nextafter(m, static_cast<float>(b))).bits, sign | (low + 1)) << a;
    }
  }
}

// 1 + 2^-8 + 2^-40 lies above the tie between 1 and 1 + 2^-7; f32 drops the 2^-40, lands on the tie and goes to even.
TEST(Bf16, FromDoubleRoundsOnceWhereTwoRoundingsWouldLandOnATie) {
  const double above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(to_bf16(static_cast<float>(above)).bits, 0x3F80);  // the trap
  EXPECT_EQ(to_bf16(above).bits, 0x3F81);
  EXPECT_EQ(to_bf16(-above).bits, 0xBF81);
  const double below = 1 + 3 * 0x1p-8 - 0x1p-40;  // likewise under the tie between codes 3F81 and 3F82
  EXPECT_EQ(to_bf16(static_cast<float>(below)).bits, 0x3F82);
  EXPECT_EQ(to_bf16(below).bits, 0x3F81);
}

TEST(Bf16, OverflowGivesInfinityAndTinyNumbersGiveSignedZero) {
  EXPECT_EQ(to_bf16(0x1.FEp127).bits, 0x7F7F);  // the largest finite one
  EXPECT_EQ(to_bf16(0x1.FEFFFFp127).bits, 0x7F7F);
  EXPECT_EQ(to_bf16(0x1.FFp127).bits, 0x7F80);
  EXPECT_EQ(to_bf16(1e300).bits, 0x7F80);
  EXPECT_EQ(to_bf16(-1e300).bits, 0xFF80);
  EXPECT_EQ(to_bf16(infinity).bits, 0x7F80);
  EXPECT_EQ(to_bf16(-infinity).bits, 0xFF80);
  EXPECT_EQ(to_bf16(1e-300).bits, 0x0000);
  EXPECT_EQ(to_bf16(-1e-300).bits, 0x8000);
}

TEST(Bf16, NanStaysNanEvenWhenItsPayloadIsInTheLowBitsOnly) {
  const auto low_payload = std::bit_cast<float>(0x7F800001u);
  EXPECT_TRUE(std::isnan(round_bf16(low_payload)));
  EXPECT_TRUE(std::isnan(round_bf16(std::bit_cast<float>(0xFFFFFFFFu))));
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<double>::quiet_NaN()))));
}

}  // namespace
}  // namespace cachalot::bf16_test
