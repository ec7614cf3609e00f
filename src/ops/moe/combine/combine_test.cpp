// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include "ops/test_backends.h"

namespace cachalot::combine_test {
namespace {

using Combine = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Combine, each_backend(), place_name);

struct Case {
  Tensor<3> routed;
  Tensor<2> shared;
  Array<std::int32_t, 2> expert;

  Case(DType type, DType shared_type, std::int64_t rows, std::int64_t top_k, std::int64_t dim, Random& random)
      : routed(type, {rows, top_k, dim}, random), shared(shared_type, {rows, dim}, random), expert({rows, top_k}) {
    for (std::int64_t r = 0; r < rows; ++r) {  // the multiples of an odd number, modulo 128: all different
      const std::int64_t step = 2 * random.below(64) + 1;
      for (std::int64_t k = 0; k < top_k; ++k) expert.view()[r][k] = static_cast<std::int32_t>((k + 1) * step % 128);
    }
  }
  // One row.
  Case(DType type, const std::vector<float>& routed_of, const std::vector<std::int32_t>& expert_of,
       const std::vector<float>& shared_of)
      : routed(type, {1, std::ssize(expert_of), std::ssize(shared_of)}, routed_of),
        shared(type, {1, std::ssize(shared_of)}, shared_of),
        expert({1, std::ssize(expert_of)}, expert_of) {}

  std::vector<float> run(const On& on, DType type, std::int64_t first, std::int64_t n) {
    Tensor<2> out(type, {n, shared.shape[1]});
    on(&Backend::combine,
       {routed.values().part(first, n), expert.view().part(first, n), shared.values().part(first, n), out});
    return floats(out);
  }
  std::vector<float> run(const On& on) { return run(on, shared.type, 0, shared.shape[0]); }
};

TEST_P(Combine, AddsAllExpertsAndTheSharedOne) {
  EXPECT_EQ(Case(DType::f32, {1, 2, 10, 20}, {5, 3}, {100, 200}).run(on), (std::vector<float>{111, 222}));
}

TEST_P(Combine, RowWithoutRoutedExpertsIsTheSharedOne) {
  EXPECT_EQ(Case(DType::bf16, {}, {}, {3, 4}).run(on), (std::vector<float>{3, 4}));
}

TEST_P(Combine, NoRowsIsNoWork) {
  Random random(3);
  EXPECT_TRUE(Case(DType::f32, DType::f32, 0, 0, 2, random).run(on).empty());
}

TEST_P(Combine, SumsByExpertNumberWhateverTheRank) {
  // 10^30 swallows a 1 that is added to it, even in double: experts 0 and 1 have to cancel before expert 2 comes.
  EXPECT_EQ(Case(DType::f32, {1, 1e30f, -1e30f}, {2, 0, 1}, {0}).run(on), (std::vector<float>{1}));
  EXPECT_EQ(Case(DType::f32, {1e30f, -1e30f, 1}, {0, 2, 1}, {0}).run(on), (std::vector<float>{0}));
}

TEST_P(Combine, SharedExpertComesLast) {
  EXPECT_EQ(Case(DType::f32, {1, 1e30f}, {1, 0}, {-1e30f}).run(on), (std::vector<float>{0}));
  EXPECT_EQ(Case(DType::f32, {-1e30f, 1e30f}, {1, 0}, {1}).run(on), (std::vector<float>{1}));
}

TEST_P(Combine, ListingOrderNeverChangesABit) {
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
    return Case(DType::f32, r, e, shared).run(on);
  };
  const std::vector<float> want = listed();
  while (std::ranges::next_permutation(order).found) EXPECT_TRUE(same_bits(listed(), want));
}

TEST_P(Combine, RoundsOnceAtTheEnd) {
  // In bf16 each half step alone would vanish next to 1; together they are a whole one.
  EXPECT_EQ(Case(DType::bf16, {1, 0x1p-8f}, {0, 1}, {0x1p-8f}).run(on), (std::vector<float>{1 + 0x1p-7f}));
}

TEST_P(Combine, TwoEqualExpertsInARowStop) {
  EXPECT_DEATH(Case(DType::f32, {1, 2, 3}, {4, 1, 4}, {0}).run(on), "all different");
}

TEST_P(Combine, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(5);
  Case c(DType::bf16, DType::bf16, 7, 6, 29, random);
  EXPECT_TRUE(rows_stand_alone(
      7, [&](std::int64_t first, std::int64_t n) { return c.run(on.with_threads(2), DType::bf16, first, n); }));
}

TEST(CombineAgreement, AtEverySizeAndType) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const DType shared_type : {DType::bf16, DType::f32}) {
        for (const std::int64_t top_k : {0, 1, 3, 6, 16}) {
          for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
            for (const std::int64_t rows : {0, 1, 5}) {
              Case c(type, shared_type, rows, top_k, dim, random);
              agreement.add([&](const On& on) { return c.run(on, out_type, 0, rows); });
            }
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

}  // namespace
}  // namespace cachalot::combine_test
