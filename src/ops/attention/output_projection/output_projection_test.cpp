// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/output_projection/output_projection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

Tensor<2> run(Tensor<2> x, const Weight& w, std::int64_t groups, DType type) {
  Context context;
  Tensor<2> out(type, {x.shape[0], w.out});
  output_projection_ref(context, {x, w, groups, out});
  return out;
}

// Two groups of two inputs and two outputs each.
TEST(OutputProjection, EachGroupMeetsItsOwnRows) {
  const std::vector<float> w = {1, 0, 0, 1, 1, 1, 1, -1};
  Tensor<2> x(DType::f32, {1, 4});
  for (std::int64_t i = 0; i < 4; ++i) x.set(i, static_cast<double>(10 + i));
  const Tensor<2> y = run(x, {WeightFormat::f32, 4, 2, w.data()}, 2, DType::f32);
  const float want[] = {10, 11, 25, -1};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// wo_a is stored fp8 but used as bf16: 17 beside 448 stays 17.
TEST(OutputProjection, InputIsNotQuantized) {
  std::vector<std::uint8_t> codes(32, 0);
  codes[1] = 0x38;
  const std::vector<std::uint8_t> scale = {128};
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 448);
  x.set(1, 17);
  EXPECT_EQ(run(x, {WeightFormat::e4m3_block32, 1, 32, codes.data(), scale.data()}, 1, DType::bf16).get(0), 34);
}

TEST(OutputProjection, MatchesTheBlockDiagonalMatrix) {
  Random random(1);
  for (const std::int64_t groups : {1, 2, 8}) {
    for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32}) {
      const std::int64_t in = 96;
      const std::int64_t o_lora = 32;
      const StoredWeight w(f, groups * o_lora, in, random);
      Tensor<2> x(DType::bf16, {2, groups * in}, random);
      const Tensor<2> y = run(x, w.weight, groups, DType::f32);
      for (std::int64_t o = 0; o < groups * o_lora; ++o) {
        double want = 0;
        for (std::int64_t column = 0; column < groups * in; ++column) {  // the whole matrix, zeros off the diagonal
          const double entry = column / in == o / o_lora ? w.weight.value(o, column % in) : 0.0f;
          want += entry * x.get(groups * in + column);
        }
        ASSERT_NEAR(y.get(groups * o_lora + o), want, 1e-5 * std::abs(want) + 1e-6);
      }
    }
  }
}

TEST(OutputProjection, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const StoredWeight w(WeightFormat::e4m3_block32, 64, 64, random);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> x(type, {4, 128}, random);
    const Tensor<2> all = run(x, w.weight, 2, type);
    for (std::int64_t row = 0; row < 4; ++row) {
      Tensor<2> one(type, {1, 128});
      one.bytes = x.row_bytes(row);
      EXPECT_EQ(run(one, w.weight, 2, type).bytes, all.row_bytes(row));
    }
  }
}

TEST(OutputProjectionDeathTest, RowsOfTheWeightFillTheGroups) {
  Random random(3);
  const StoredWeight w(WeightFormat::bf16, 7, 4, random);
  EXPECT_DEATH(run(Tensor<2>(DType::bf16, {1, 8}), w.weight, 2, DType::bf16), "shapes fit");
}

}  // namespace
}  // namespace cachalot
