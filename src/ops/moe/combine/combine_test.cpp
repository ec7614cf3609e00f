// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include <gtest/gtest.h>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

std::vector<float> combine(DType type, std::int64_t dim, const std::vector<float>& routed,
                           const std::vector<std::int32_t>& expert, const std::vector<float>& shared) {
  const std::int64_t rows = static_cast<std::int64_t>(shared.size()) / dim;
  const std::int64_t top_k = rows == 0 ? 0 : static_cast<std::int64_t>(expert.size()) / rows;
  const TestTensor<3> r(type, {rows, top_k, dim}, routed);
  const TestTensor<2> s(type, {rows, dim}, shared);
  TestTensor<2> out(type, {rows, dim});
  Context context;
  combine_ref(context,
              {.routed = r.view(), .expert = {expert.data(), {rows, top_k}}, .shared = s.view(), .out = out.view()});
  return out.numbers();
}

TEST(Combine, AddsAllExpertsAndTheSharedOne) {
  EXPECT_EQ(combine(DType::f32, 2, {1, 2, 10, 20}, {5, 3}, {100, 200}), (std::vector<float>{111, 222}));
}

TEST(Combine, RowWithoutRoutedExpertsIsTheSharedOne) {
  EXPECT_EQ(combine(DType::bf16, 2, {}, {}, {3, 4}), (std::vector<float>{3, 4}));
}

TEST(Combine, NoRowsIsNoWork) { EXPECT_TRUE(combine(DType::f32, 2, {}, {}, {}).empty()); }

TEST(Combine, SumsByExpertNumberWhateverTheRank) {
  // 10^30 swallows a 1 that is added to it, even in double: experts 0 and 1 have to cancel before expert 2 comes.
  EXPECT_EQ(combine(DType::f32, 1, {1, 1e30f, -1e30f}, {2, 0, 1}, {0}), (std::vector<float>{1}));
  EXPECT_EQ(combine(DType::f32, 1, {1e30f, -1e30f, 1}, {0, 2, 1}, {0}), (std::vector<float>{0}));
}

TEST(Combine, SharedExpertComesLast) {
  EXPECT_EQ(combine(DType::f32, 1, {1, 1e30f}, {1, 0}, {-1e30f}), (std::vector<float>{0}));
  EXPECT_EQ(combine(DType::f32, 1, {-1e30f, 1e30f}, {1, 0}, {1}), (std::vector<float>{1}));
}

TEST(Combine, ListingOrderNeverChangesABit) {
  const std::int64_t dim = 40, top_k = 6;
  std::vector<std::int64_t> order = {0, 1, 2, 3, 4, 5};
  const std::vector<std::int32_t> number = {17, 383, 0, 4, 200, 16};
  std::vector<float> routed = noise(top_k * dim, 1);
  for (std::size_t d = 0; d < 40; d += 3) {  // two that cancel, so that the order of the sum shows even in double
    routed[d] = 1e25f;
    routed[40 + d] = -1e25f;
  }
  const std::vector<float> shared = noise(dim, 2);
  const auto listed = [&] {
    std::vector<float> r;
    std::vector<std::int32_t> e;
    for (std::int64_t k : order) {
      r.insert(r.end(), routed.begin() + k * dim, routed.begin() + (k + 1) * dim);
      e.push_back(number[static_cast<std::size_t>(k)]);
    }
    return combine(DType::f32, dim, r, e, shared);
  };
  const std::vector<float> want = listed();
  while (std::ranges::next_permutation(order).found) EXPECT_TRUE(same_bits(listed(), want));
}

TEST(Combine, RoundsOnceAtTheEnd) {
  // In bf16 each half step alone would vanish next to 1; together they are a whole one.
  EXPECT_EQ(combine(DType::bf16, 1, {1, 0x1p-8f}, {0, 1}, {0x1p-8f}), (std::vector<float>{1 + 0x1p-7f}));
}

TEST(Combine, TwoEqualExpertsInARowStop) {
  EXPECT_DEATH(combine(DType::f32, 1, {1, 2, 3}, {4, 1, 4}, {0}), "all different");
}

TEST(Combine, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 4, dim = 9, top_k = 3;
  const std::vector<float> routed = noise(rows * top_k * dim, 5), shared = noise(rows * dim, 6);
  const std::vector<std::int32_t> expert = {2, 1, 0, 7, 8, 3, 0, 1, 2, 5, 9, 1};
  const auto cut = [](const auto& v, std::int64_t first, std::int64_t count) {
    return std::vector(v.begin() + first, v.begin() + first + count);
  };
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    return combine(DType::bf16, dim, cut(routed, first * top_k * dim, n * top_k * dim),
                   cut(expert, first * top_k, n * top_k), cut(shared, first * dim, n * dim));
  }));
}

}  // namespace
}  // namespace cachalot
