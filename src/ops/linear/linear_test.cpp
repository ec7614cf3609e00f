// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr WeightFormat every_format[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16,
                                         WeightFormat::e4m3_block32, WeightFormat::e2m1_row32};

Tensor<2> run(Tensor<2> x, const Weight& w, DType out_type) {
  Context context;
  Tensor<2> out(out_type, {x.shape[0], w.out});
  linear_ref(context, {x, w, out});
  return out;
}

TEST(Linear, HandComputedProduct) {
  const std::vector<float> data = {1, 2, 3, -1, 0, 0.5f};
  Tensor<2> x(DType::f32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  const Tensor<2> y = run(x, {WeightFormat::f32, 2, 3, data.data()}, DType::f32);
  const float want[] = {8, 1, 26, -0.5f};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// An f32 input is never quantized, whatever the weight; the test sums exactly the numbers Weight::value names.
TEST(Linear, F32InputGivesTheProductOfTheDequantizedWeight) {
  Random random(1);
  for (const WeightFormat f : every_format) {
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {31, 32}, {33, 96}, {40, 66}}) {
      const StoredWeight w(f, out, in, random);
      Tensor<2> x(DType::f32, {3, in}, random);
      const Tensor<2> y = run(x, w.weight, DType::f32);
      for (std::int64_t row = 0; row < 3; ++row) {
        for (std::int64_t o = 0; o < out; ++o) {
          long double want = 0;
          for (std::int64_t i = 0; i < in; ++i)
            want += static_cast<long double>(x.get(row * in + i)) * w.weight.value(o, i);
          ASSERT_NEAR(y.get(row * out + o), static_cast<double>(want),
                      1e-5 * std::abs(static_cast<double>(want)) + 1e-6);
        }
      }
    }
  }
}

// With scales and bf16 the input goes through fp8 first: 17 beside 448 becomes 16.
TEST(Linear, Bf16InputOfAWeightWithScalesIsQuantizedPer32) {
  std::vector<std::uint8_t> codes(64, 0);
  codes[1] = 0x38;   // 1
  codes[33] = 0x40;  // 2
  const std::vector<std::uint8_t> scale = {128, 126};
  const Weight w{WeightFormat::e4m3_block32, 1, 64, codes.data(), scale.data()};
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> x(type, {1, 64});
    x.set(0, 448);
    x.set(1, 17);
    x.set(33, 18);  // exact
    EXPECT_EQ(run(x, w, DType::f32).get(0), type == DType::bf16 ? 16 * 2 + 18 : 17 * 2 + 18) << name(type);
  }
}

TEST(Linear, PlainWeightLeavesABf16InputAlone) {
  std::vector<bf16> data(32);
  data[1] = to_bf16(1.0f);
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 448);
  x.set(1, 17);
  EXPECT_EQ(run(x, {WeightFormat::bf16, 1, 32, data.data()}, DType::f32).get(0), 17);
}

TEST(Linear, LowNibbleMeetsTheEvenInput) {
  std::vector<std::uint8_t> codes(16, 0);
  codes[0] = 0x42;  // 1 and 2
  const std::vector<std::uint8_t> scale = {127};
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 1);
  x.set(1, 8);
  EXPECT_EQ(run(x, {WeightFormat::e2m1_row32, 1, 32, codes.data(), scale.data()}, DType::f32).get(0), 17);
}

// Three blocks whose partial sums are 2^24, 1 and 1: f32 in order gives 2^24, a wider sum 2^24 + 2.
TEST(Linear, QuantizedBlocksAreAddedInF32InOrder) {
  std::vector<std::uint8_t> codes(96, 0);
  codes[0] = codes[32] = codes[64] = 0x38;
  const std::vector<std::uint8_t> scale = {127, 127, 127};
  Tensor<2> x(DType::bf16, {1, 96});
  x.set(0, 0x1p24);
  x.set(32, 1);
  x.set(64, 1);
  EXPECT_EQ(run(x, {WeightFormat::e4m3_block32, 1, 96, codes.data(), scale.data()}, DType::f32).get(0), 0x1p24f);
}

TEST(Linear, Bf16OutputIsTheF32OutputRoundedOnce) {
  Random random(2);
  for (const WeightFormat f : every_format) {
    const StoredWeight w(f, 40, 64, random);
    Tensor<2> x(DType::bf16, {2, 64}, random);
    const Tensor<2> wide = run(x, w.weight, DType::f32);
    const Tensor<2> narrow = run(x, w.weight, DType::bf16);
    for (std::int64_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(narrow.get(i), wide.get(i), std::abs(wide.get(i)) / 256);
  }
}

TEST(Linear, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  for (const WeightFormat f : every_format) {
    for (const DType type : {DType::bf16, DType::f32}) {
      const StoredWeight w(f, 33, 160, random);
      Tensor<2> x(type, {5, 160}, random);
      const Tensor<2> all = run(x, w.weight, type);
      for (std::int64_t row = 0; row < 5; ++row) {
        Tensor<2> one(type, {1, 160});
        one.bytes = x.row_bytes(row);
        EXPECT_EQ(run(one, w.weight, type).bytes, all.row_bytes(row)) << row;
      }
    }
  }
}

TEST(Linear, NoRowsIsNothingToDo) {
  Random random(4);
  const StoredWeight w(WeightFormat::e4m3_block32, 3, 32, random);
  EXPECT_TRUE(run(Tensor<2>(DType::bf16, {0, 32}), w.weight, DType::bf16).bytes.empty());
}

TEST(Linear, NanStaysInItsRow) {
  Random random(5);
  const StoredWeight w(WeightFormat::e4m3_block32, 3, 32, random);
  Tensor<2> x(DType::bf16, {2, 32}, random);
  x.set(4, std::nan(""));
  const Tensor<2> y = run(x, w.weight, DType::bf16);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(y.get(i)));
    EXPECT_TRUE(std::isfinite(y.get(3 + i)));
  }
}

}  // namespace
}  // namespace cachalot
