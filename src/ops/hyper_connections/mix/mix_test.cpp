// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::mix_test {
namespace {

using Mix = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Mix, each_backend(), place_name);

std::vector<float> mix(const On& on, ConstValues<3> h, const Weight& fn, float eps = 1e-20f) {
  Array<float, 2> mixes({h.extent(0), fn.out});
  on(&Backend::mix, {h, fn, eps, mixes});
  return mixes.at;
}
// fn: [mixes, copies · dim].
std::vector<float> mix(const On& on, DType type, std::int64_t copies, std::int64_t dim, const std::vector<float>& h,
                       const std::vector<float>& fn, float eps = 1e-20f) {
  const std::int64_t width = copies * dim;
  Tensor<3> stream(type, {std::ssize(h) / width, copies, dim}, h);
  return mix(on, stream, Tensor<2>(DType::f32, {std::ssize(fn) / width, width}, fn).weight(), eps);
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-7 * (1 + std::abs(want[i]))) << i;
}

TEST_P(Mix, NormsAllCopiesByOneStatistic) {
  // mean(1, 4, 9, 16) = 7.5 for both copies alike. fn picks the first and the last value, and their sum.
  const double rho = 1 / std::sqrt(7.5);
  expect_near(mix(on, DType::f32, 2, 2, {1, 2, 3, 4}, {1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1}), {rho, 4 * rho, 5 * rho});
}

TEST_P(Mix, EpsIsAddedToTheMean) {
  expect_near(mix(on, DType::f32, 2, 1, {1, 1}, {1, 2}, 3.0f), {1.5});  // 3 / √(1 + 3)
}

TEST_P(Mix, RowOfZerosGivesZeros) {
  EXPECT_EQ(mix(on, DType::bf16, 2, 1, {0, 0}, {1, 2}), (std::vector<float>{0}));
  Random random(4);
  Tensor<3> h(DType::bf16, {1, 4, 19});
  EXPECT_EQ(mix(on, h, StoredWeight(WeightFormat::f32, 24, 4 * 19, random).weight), std::vector<float>(24));
}

TEST_P(Mix, ScalingTheStreamChangesNothing) {
  std::vector<float> h = noise(4 * 33, 1);
  const std::vector<float> fn = noise(24 * 4 * 33, 2), want = mix(on, DType::f32, 4, 33, h, fn, 0.0f);
  for (float& x : h) x *= 64;
  EXPECT_TRUE(same_bits(mix(on, DType::f32, 4, 33, h, fn, 0.0f), want));
}

TEST(MixReference, SumsWiderThanF32) {
  // 2^24 and 1 don't fit one f32 together; the difference must survive until the rounding at the end.
  const double rho = 1 / std::sqrt((0x1p48 + 1 + 0x1p48) / 3);
  const std::vector<float> got = mix(On(), DType::f32, 3, 1, {0x1p24f, 1, -0x1p24f}, {1, 1, 1});
  EXPECT_NEAR(got[0] / rho, 1, 1e-6);
}

TEST_P(Mix, NoRowsIsNoWork) { EXPECT_TRUE(mix(on, DType::f32, 2, 1, {}, {1, 2}).empty()); }

TEST_P(Mix, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(5);
  const StoredWeight fn(WeightFormat::f32, 24, 4 * 31, random);
  Tensor<3> h(DType::bf16, {7, 4, 31}, random);
  EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
    return mix(on.with_threads(2), h.values().part(first, n), fn.weight);
  }));
}

TEST(MixAgreement, AtEverySizeAndType) {
  Random random(1);
  Agreement agreement;
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
      for (const std::int64_t dim : {1, 4, 5, 15, 16, 17, 31, 256}) {
        for (const std::int64_t rows : {0, 1, 3}) {
          const StoredWeight fn(WeightFormat::f32, (2 + copies) * copies, copies * dim, random);
          Tensor<3> h(type, {rows, copies, dim}, random, dim == 17 ? 1e-6f : 3.0f);
          agreement.add([&](const On& on) { return mix(on, h, fn.weight); });
        }
      }
    }
  }
  expect_f32_agrees(agreement, 1e-6);
}

TEST(MixAgreement, AtTheReleasedWidth) {
  Random random(2);
  Agreement agreement;
  const StoredWeight fn(WeightFormat::f32, 24, 4 * 5120, random);
  Tensor<3> h(DType::bf16, {4, 4, 5120}, random);
  agreement.add([&](const On& on) { return mix(on, h, fn.weight); });
  expect_f32_agrees(agreement, 1e-5);  // 20480 terms in f32
}

TEST(MixAgreement, WhereCopiesStandApart) {
  Random random(3);
  const StoredWeight fn(WeightFormat::f32, 8, 2 * 9, random);
  Tensor<3> wide(DType::bf16, {3, 2, 20}, random);
  const ConstValues<3> h(wide.bytes.data(), DType::bf16, {3, 2, 9}, {40, 20, 1});
  Agreement agreement;
  agreement.add([&](const On& on) { return mix(on, h, fn.weight); });
  expect_f32_agrees(agreement, 1e-6);
}

}  // namespace
}  // namespace cachalot::mix_test
