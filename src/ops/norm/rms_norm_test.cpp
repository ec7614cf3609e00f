// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr float text_eps = 1e-20f;

Tensor<2> run(Tensor<2> x, Tensor<1> weight, float eps = text_eps) {
  Context context;
  Tensor<2> out(x.type, x.shape);
  rms_norm_ref(context, {x, weight, eps, out});
  return out;
}

TEST(RmsNorm, HandComputedRow) {
  Tensor<2> x(DType::f32, {1, 2});
  x.set(0, 3);
  x.set(1, 4);
  Tensor<1> weight(DType::f32, {2});
  weight.set(0, 1);
  weight.set(1, -2);
  const Tensor<2> y = run(x, weight);
  EXPECT_NEAR(y.get(0), 3 / std::sqrt(12.5), 3e-7);
  EXPECT_NEAR(y.get(1), -8 / std::sqrt(12.5), 3e-7);
}

TEST(RmsNorm, RowOfZerosGivesZerosNotNan) {
  Random random(1);
  for (const DType type : {DType::bf16, DType::f32}) {
    const Tensor<2> y = run(Tensor<2>(type, {2, 96}), Tensor<1>(type, {96}, random));
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get(i), 0);
  }
}

// eps joins the mean of squares: a row of 1e-3 with eps 1e-6 is 1 / sqrt(2).
TEST(RmsNorm, EpsIsAddedToTheMeanOfSquares) {
  Tensor<2> x(DType::f32, {1, 64});
  Tensor<1> weight(DType::f32, {64});
  for (std::int64_t i = 0; i < 64; ++i) {
    x.set(i, 1e-3);
    weight.set(i, 1);
  }
  EXPECT_NEAR(run(x, weight, 1e-6f).get(5), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(run(x, weight).get(5), 1, 1e-6);
}

TEST(RmsNorm, WithWeightOneTheMeanSquareIsOneAtEveryWidthAndSize) {
  Random random(2);
  for (const std::int64_t dim : {1, 2, 31, 32, 33, 1280, 5120}) {
    for (const float scale : {1e-6f, 1.0f, 1e15f, 1e30f}) {  // squares of the last one leave f32
      Tensor<1> weight(DType::f32, {dim});
      for (std::int64_t i = 0; i < dim; ++i) weight.set(i, 1);
      const Tensor<2> y = run(Tensor<2>(DType::f32, {2, dim}, random, scale), weight);
      double squares = 0;
      for (std::int64_t i = 0; i < dim; ++i) squares += static_cast<double>(y.get(i)) * y.get(i);
      EXPECT_NEAR(squares / static_cast<double>(dim), 1, 1e-6) << dim << " " << scale;
    }
  }
}

TEST(RmsNorm, RoundsOnceAtTheStore) {
  Random random(3);
  Tensor<2> x(DType::bf16, {3, 96}, random);
  Tensor<1> weight(DType::bf16, {96}, random);
  const Tensor<2> y = run(x, weight);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < 96; ++j) squares += std::pow(x.get(i / 96 * 96 + j), 2.0);
    const double want = x.get(i) / std::sqrt(squares / 96 + static_cast<double>(text_eps)) * weight.get(i % 96);
    ASSERT_EQ(y.get(i), to_float(to_bf16(want))) << i;
  }
}

TEST(RmsNorm, MayWriteOverItsInput) {
  Random random(4);
  Tensor<2> x(DType::bf16, {3, 64}, random);
  Tensor<1> weight(DType::bf16, {64}, random);
  const Tensor<2> apart = run(x, weight);
  Context context;
  rms_norm_ref(context, {x, weight, text_eps, x});
  EXPECT_EQ(x.bytes, apart.bytes);
}

TEST(RmsNorm, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> x(type, {6, 96}, random);
    const Tensor<1> weight(type, {96}, random);
    const Tensor<2> all = run(x, weight);
    for (std::int64_t row = 0; row < 6; ++row) {
      Tensor<2> one(type, {1, 96});
      one.bytes = x.row_bytes(row);
      EXPECT_EQ(run(one, weight).bytes, all.row_bytes(row));
    }
  }
}

}  // namespace
}  // namespace cachalot
