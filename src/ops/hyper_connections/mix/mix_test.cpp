// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

// fn: [mixes, copies · dim].
std::vector<float> mix(DType type, std::int64_t copies, std::int64_t dim, const std::vector<float>& h,
                       const std::vector<float>& fn, float eps = 1e-20f) {
  const std::int64_t width = copies * dim, rows = static_cast<std::int64_t>(h.size()) / width;
  const std::int64_t count = static_cast<std::int64_t>(fn.size()) / width;
  const TestTensor<3> stream(type, {rows, copies, dim}, h);
  const TestTensor<2> matrix(DType::f32, {count, width}, fn);
  std::vector<float> mixes(static_cast<std::size_t>(rows * count));
  Context context;
  mix_ref(context, {.h = stream.view(), .fn = matrix.weight(), .eps = eps, .mixes = {mixes.data(), {rows, count}}});
  return mixes;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-7 * (1 + std::abs(want[i]))) << i;
}

TEST(Mix, NormsAllCopiesByOneStatistic) {
  // mean(1, 4, 9, 16) = 7.5 for both copies alike. fn picks the first and the last value, and their sum.
  const double rho = 1 / std::sqrt(7.5);
  expect_near(mix(DType::f32, 2, 2, {1, 2, 3, 4}, {1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1}), {rho, 4 * rho, 5 * rho});
}

TEST(Mix, EpsIsAddedToTheMean) {
  expect_near(mix(DType::f32, 2, 1, {1, 1}, {1, 2}, 3.0f), {1.5});  // 3 / √(1 + 3)
}

TEST(Mix, RowOfZerosGivesZeros) { EXPECT_EQ(mix(DType::bf16, 2, 1, {0, 0}, {1, 2}), (std::vector<float>{0})); }

TEST(Mix, ScalingTheStreamChangesNothing) {
  std::vector<float> h = noise(4 * 33, 1);
  const std::vector<float> fn = noise(24 * 4 * 33, 2), want = mix(DType::f32, 4, 33, h, fn, 0.0f);
  for (float& x : h) x *= 64;
  EXPECT_TRUE(same_bits(mix(DType::f32, 4, 33, h, fn, 0.0f), want));
}

TEST(Mix, SumsWiderThanF32) {
  // 2^24 and 1 don't fit one f32 together; the difference must survive until the rounding at the end.
  const double rho = 1 / std::sqrt((0x1p48 + 1 + 0x1p48) / 3);
  const std::vector<float> got = mix(DType::f32, 3, 1, {0x1p24f, 1, -0x1p24f}, {1, 1, 1});
  EXPECT_NEAR(got[0] / rho, 1, 1e-6);
}

TEST(Mix, NoRowsIsNoWork) { EXPECT_TRUE(mix(DType::f32, 2, 1, {}, {1, 2}).empty()); }

TEST(Mix, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 3, copies = 4, dim = 31;
  const std::vector<float> h = noise(rows * copies * dim, 3), fn = noise(24 * copies * dim, 4);
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    const auto at = h.begin() + first * copies * dim;
    return mix(DType::bf16, copies, dim, std::vector(at, at + n * copies * dim), fn);
  }));
}

}  // namespace
}  // namespace cachalot
