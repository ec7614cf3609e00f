// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

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
  std::vector<float> run(void (*op)(Context&, const CombineArgs&), Context& context, DType type, std::int64_t first,
                         std::int64_t n) {
    Tensor<2> out(type, {n, shared.shape[1]});
    op(context, {routed.values().part(first, n), expert.view().part(first, n), shared.values().part(first, n), out});
    return floats(out);
  }
};

TEST(CombineCpu, AgreesWithTheReference) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const DType shared_type : {DType::bf16, DType::f32}) {
        for (const std::int64_t top_k : {0, 1, 3, 6, 16}) {
          for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
            for (const std::int64_t rows : {0, 1, 5}) {
              Case c(type, shared_type, rows, top_k, dim, random);
              agreement.add(combine_ref, combine_cpu,
                            [&](auto op, Context& context) { return c.run(op, context, out_type, 0, rows); });
            }
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

TEST(CombineCpu, ListingOrderNeverChangesABit) {
  Random random(2);
  Case c(DType::f32, DType::f32, 1, 5, 40, random);
  Context context;
  const std::vector<float> want = c.run(combine_cpu, context, DType::f32, 0, 1);
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  while (std::ranges::next_permutation(order).found) {
    Case shuffled = c;
    for (std::size_t k = 0; k < 5; ++k) {
      shuffled.expert.at[k] = c.expert.at[order[k]];
      for (std::size_t d = 0; d < 40; ++d)
        shuffled.routed.set(static_cast<std::int64_t>(k * 40 + d),
                            c.routed.get(static_cast<std::int64_t>(order[k] * 40 + d)));
    }
    EXPECT_TRUE(same_bits(shuffled.run(combine_cpu, context, DType::f32, 0, 1), want));
  }
}

TEST(CombineCpu, SharedExpertComesLast) {
  Random random(3);
  Case c(DType::f32, DType::f32, 1, 2, 1, random);
  c.expert.at = {1, 0};
  c.routed.set(0, 1);
  c.routed.set(1, 1e30);
  c.shared.set(0, -1e30);
  Context context;
  EXPECT_EQ(c.run(combine_cpu, context, DType::f32, 0, 1), (std::vector<float>{0}));
}

TEST(CombineCpuDeathTest, TwoEqualExpertsInARowStop) {
  Random random(4);
  Case c(DType::f32, DType::f32, 1, 3, 1, random);
  c.expert.at = {4, 1, 4};
  Context context;
  EXPECT_DEATH(c.run(combine_cpu, context, DType::f32, 0, 1), "all different");
}

TEST(CombineCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  Case c(DType::bf16, DType::bf16, 7, 6, 29, random);
  EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    return c.run(combine_cpu, context, DType::bf16, first, n);
  }));
}

}  // namespace
}  // namespace cachalot
