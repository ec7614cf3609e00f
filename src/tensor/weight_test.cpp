// SPDX-License-Identifier: Apache-2.0
#include "tensor/weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cachalot::weight_test {
namespace {

TEST(Weight, PlainFormatsHoldTheNumber) {
  const std::vector<float> f32 = {1, -2, 0.1f, 4, 5, 6};
  const std::vector<bf16> b16 = {to_bf16(1.0f), to_bf16(-2.0f), to_bf16(0.1f)};
  const std::vector<f16> h16 = {{0x3C00}, {0xC000}, {0x2E66}};  // 1, -2, 0.0999755859375
  const Weight w{WeightFormat::f32, 2, 3, f32.data()};
  EXPECT_EQ(w.value(0, 2), 0.1f);
  EXPECT_EQ(w.value(1, 0), 4);
  EXPECT_EQ((Weight{WeightFormat::bf16, 1, 3, b16.data()}.value(0, 2)), round_bf16(0.1f));
  EXPECT_EQ((Weight{WeightFormat::f16, 3, 1, h16.data()}.value(2, 0)), 0.0999755859375f);
  EXPECT_EQ((Weight{WeightFormat::f16, 3, 1, h16.data()}.value(1, 0)), -2);
  EXPECT_FALSE(w.quantized());
  EXPECT_EQ(w.block_scale(1, 0), 1);
}

// 33 × 65: two blocks high, three wide, the last ones one wide or high. Every code is 1.0, so a value is its scale.
TEST(Weight, Fp8BlocksAreThirtyTwoSquareWithRaggedEdges) {
  const std::vector<std::uint8_t> codes(33 * 65, 0x38);
  const std::vector<std::uint8_t> scale = {127, 128, 129, 130, 131, 132};
  const Weight w{WeightFormat::e4m3_block32, 33, 65, codes.data(), scale.data()};
  EXPECT_EQ(w.scale_columns(), 3);
  for (std::int64_t row = 0; row < 33; ++row) {
    for (std::int64_t column = 0; column < 65; ++column) {
      ASSERT_EQ(w.value(row, column), std::ldexp(1.0f, static_cast<int>(3 * (row / 32) + column / 32)));
    }
  }
}

TEST(Weight, Fp8CodesStandRowByRow) {
  std::vector<std::uint8_t> codes(2 * 40, 0);
  codes[40 + 33] = 0xC0;  // -2
  const std::vector<std::uint8_t> scale = {127, 126};
  const Weight w{WeightFormat::e4m3_block32, 2, 40, codes.data(), scale.data()};
  EXPECT_EQ(w.code(1, 33), -2);
  EXPECT_EQ(w.value(1, 33), -1);
  EXPECT_EQ(w.value(0, 33), 0);
}

TEST(Weight, Fp4LowNibbleIsTheEvenColumnAndEveryRowHasItsScales) {
  std::vector<std::uint8_t> codes(2 * 20, 0);  // 2 × 40
  codes[0] = 0x72;                             // row 0: 1, 6
  codes[20 + 16] = 0x9F;                       // row 1, columns 32 and 33: -6, -0.5
  const std::vector<std::uint8_t> scale = {127, 120, 121, 129};
  const Weight w{WeightFormat::e2m1_row32, 2, 40, codes.data(), scale.data()};
  EXPECT_TRUE(w.quantized());
  EXPECT_EQ(w.value(0, 0), 1);
  EXPECT_EQ(w.value(0, 1), 6);
  EXPECT_EQ(w.value(1, 32), -24);
  EXPECT_EQ(w.value(1, 33), -2);
  EXPECT_EQ(w.block_scale(1, 0), 1.0f / 64);
  EXPECT_EQ(w.value(1, 31), 0);
}

Weight numbered(WeightFormat f, std::vector<std::uint8_t>& codes, std::vector<std::uint8_t>& scale) {
  const std::int64_t out = 70;
  const std::int64_t in = 64;
  codes.resize(static_cast<std::size_t>(out * in * 4));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * i % 113 % 0x7B);  // no NaN
  scale.resize(static_cast<std::size_t>(out * 2));
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<std::uint8_t>(100 + i % 50);
  return {f, out, in, codes.data(), scale.data()};
}

TEST(Weight, RowsAreAMatrixOfTheirOwn) {
  for (const WeightFormat f : {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16, WeightFormat::e4m3_block32,
                               WeightFormat::e2m1_row32}) {
    std::vector<std::uint8_t> codes;
    std::vector<std::uint8_t> scale;
    const Weight w = numbered(f, codes, scale);
    for (const std::int64_t first : {0, 32, 64}) {
      const Weight part = w.rows(first, 6);
      EXPECT_EQ(part.out, 6);
      for (std::int64_t row = 0; row < 6; ++row) {
        for (std::int64_t column = 0; column < w.in; ++column) {
          ASSERT_EQ(part.value(row, column), w.value(first + row, column)) << static_cast<int>(f);
        }
      }
    }
    EXPECT_EQ(w.rows(64, 0).out, 0);
    if (f != WeightFormat::e4m3_block32) {
      EXPECT_EQ(w.rows(33, 2).value(1, 40), w.value(34, 40));
    }
  }
}

TEST(WeightDeathTest, CutThroughAScaleBlockOrPastTheEndIsRefused) {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scale;
  const Weight w = numbered(WeightFormat::e4m3_block32, codes, scale);
  EXPECT_DEATH(w.rows(33, 2), "scale block");
  EXPECT_DEATH(w.rows(64, 7), "rows that the weight has");
  EXPECT_DEATH(w.rows(-32, 7), "rows that the weight has");
}

}  // namespace
}  // namespace cachalot::weight_test
