// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rms_norm.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::rms_norm_test {
namespace {

using RmsNorm = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, RmsNorm, each_backend(), place_name);

constexpr DType both_types[] = {DType::bf16, DType::f32};
constexpr float text_eps = 1e-20f;

Tensor<2> run(const On& on, ConstValues<2> x, ConstValues<1> weight, DType type, float eps = text_eps) {
  Tensor<2> out(type, x.shape());
  on(&Backend::rms_norm, {x, weight, eps, out});
  return out;
}
Tensor<2> run(const On& on, Tensor<2> x, Tensor<1> weight, float eps = text_eps) {
  return run(on, x, weight, x.type, eps);
}

TEST_P(RmsNorm, HandComputedRow) {
  const Tensor<2> y = run(on, {DType::f32, {1, 2}, {3, 4}}, {DType::f32, {2}, {1, -2}});
  EXPECT_NEAR(y.get(0), 3 / std::sqrt(12.5), 3e-7);
  EXPECT_NEAR(y.get(1), -8 / std::sqrt(12.5), 3e-7);
}

TEST_P(RmsNorm, RowOfZerosGivesZerosNotNan) {
  Random random(1);
  for (const DType type : both_types) {
    for (const std::int64_t dim : {19, 96}) {
      const Tensor<2> y = run(on, {type, {2, dim}}, {type, {dim}, random});
      for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get(i), 0);
    }
  }
}

// eps joins the mean of squares: a row of 1e-3 with eps 1e-6 is 1 / sqrt(2).
TEST_P(RmsNorm, EpsIsAddedToTheMeanOfSquares) {
  const Tensor<2> x(DType::f32, {1, 64}, std::vector<float>(64, 1e-3f));
  const Tensor<1> weight(DType::f32, {64}, std::vector<float>(64, 1));
  EXPECT_NEAR(run(on, x, weight, 1e-6f).get(5), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(run(on, x, weight).get(5), 1, 1e-6);
}

double mean_square_with_weight_one(const On& on, std::int64_t dim, float scale) {
  Random random(2);
  const Tensor<1> weight(DType::f32, {dim}, std::vector<float>(static_cast<std::size_t>(dim), 1));
  const Tensor<2> y = run(on, Tensor<2>(DType::f32, {2, dim}, random, scale), weight);
  double squares = 0;
  for (std::int64_t i = 0; i < dim; ++i) squares += static_cast<double>(y.get(i)) * y.get(i);
  return squares / static_cast<double>(dim);
}

TEST_P(RmsNorm, WithWeightOneTheMeanSquareIsOneAtEveryWidthAndSize) {
  for (const std::int64_t dim : {1, 2, 31, 32, 33, 1280, 5120}) {
    for (const float scale : {1e-6f, 1.0f, 1e15f}) {
      EXPECT_NEAR(mean_square_with_weight_one(on, dim, scale), 1, 1e-6) << dim << " " << scale;
    }
  }
}

TEST(RmsNormReference, SquaresMayLeaveF32) {
  for (const std::int64_t dim : {1, 2, 31, 32, 33, 1280, 5120}) {
    EXPECT_NEAR(mean_square_with_weight_one(On(), dim, 1e30f), 1, 1e-6) << dim;
  }
}

TEST_P(RmsNorm, RoundsOnceAtTheStore) {
  Random random(3);
  Tensor<2> x(DType::bf16, {3, 96}, random);
  Tensor<1> weight(DType::bf16, {96}, random);
  const Tensor<2> y = run(on, x, weight);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < 96; ++j) squares += std::pow(x.get(i / 96 * 96 + j), 2.0);
    const double want = x.get(i) / std::sqrt(squares / 96 + static_cast<double>(text_eps)) * weight.get(i % 96);
    ASSERT_EQ(y.get(i), to_float(to_bf16(want))) << i;
  }
}

TEST_P(RmsNorm, MayWriteOverItsInputAndNoRowsIsNoWork) {
  Random random(4);
  for (const std::int64_t rows : {0, 1, 6}) {
    for (const std::int64_t dim : {64, 67}) {
      Tensor<2> x(DType::bf16, {rows, dim}, random);
      Tensor<1> weight(DType::bf16, {dim}, random);
      const Tensor<2> apart = run(on.with_threads(2), x, weight);
      on.with_threads(2)(&Backend::rms_norm, {x, weight, text_eps, x});
      EXPECT_EQ(x.bytes, apart.bytes);
    }
  }
}

TEST_P(RmsNorm, WritesOnlyItsOwnColumns) {
  Random random(4);
  for (const DType type : both_types) {
    Tensor<2> x(type, {3, 40}, random), y(type, {3, 40});
    Tensor<1> weight(type, {19}, random);
    on(&Backend::rms_norm, {x.values().columns(5, 19), weight, text_eps, y.values().columns(7, 19)});
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get(i) != 0, i % 40 >= 7 && i % 40 < 26) << i;
  }
}

TEST_P(RmsNorm, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  for (const DType type : both_types) {
    for (const std::int64_t dim : {96, 97}) {
      Tensor<2> x(type, {9, dim}, random);
      Tensor<1> weight(type, {dim}, random);
      EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
        return floats(run(on.with_threads(2), x.values().part(first, n), weight, type));
      }));
    }
  }
}

TEST_P(RmsNorm, NanStaysInItsRow) {
  Random random(6);
  Tensor<2> x(DType::bf16, {2, 18}, random);
  x.set(17, std::nan(""));
  const Tensor<2> y = run(on, x, {DType::bf16, {18}, random});
  for (std::int64_t i = 0; i < 36; ++i) EXPECT_EQ(std::isnan(y.get(i)), i < 18) << i;
}

TEST(RmsNormAgreement, AtEveryWidthTypeAndSize) {
  for (const DType out_type : both_types) {
    Random random(1);
    Agreement agreement;
    for (const DType x_type : both_types) {
      for (const DType weight_type : both_types) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 512, 1280, 5120}) {
          for (const float scale : {1e-12f, 1e-3f, 1.0f, 1e15f}) {
            Tensor<2> x(x_type, {5, dim}, random, scale);
            Tensor<1> weight(weight_type, {dim}, random);
            agreement.add(
                [&](const On& on) { return floats(run(on, x, weight, out_type, dim % 2 == 0 ? text_eps : 1e-6f)); });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

}  // namespace
}  // namespace cachalot::rms_norm_test
