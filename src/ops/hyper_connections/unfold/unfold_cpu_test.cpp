// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

struct Case {
  Tensor<2> y;
  Tensor<3> h;
  Array<float, 2> post;
  Array<float, 3> comb;

  Case(DType type, std::int64_t rows, std::int64_t copies, std::int64_t dim, Random& random)
      : y(type, {rows, dim}, random),
        h(type, {rows, copies, dim}, random),
        post({rows, copies}),
        comb({rows, copies, copies}) {
    post.at = random_floats(rows * copies, random, 2);
    comb.at = random_floats(rows * copies * copies, random);
  }
  std::vector<float> run(void (*op)(Context&, const UnfoldArgs&), Context& context, DType out_type, std::int64_t first,
                         std::int64_t n) {
    Tensor<3> out(out_type, {n, h.shape[1], h.shape[2]});
    op(context, {y.values().part(first, n), h.values().part(first, n), post.view().part(first, n),
                 comb.view().part(first, n), out});
    return floats(out);
  }
};

TEST(UnfoldCpu, AgreesWithTheReference) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            Case c(type, rows, copies, dim, random);
            agreement.add(unfold_ref, unfold_cpu,
                          [&](auto op, Context& context) { return c.run(op, context, out_type, 0, rows); });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

TEST(UnfoldCpu, OutMayBeTheStreamItself) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const SimdLevel& level : simd_levels()) {
      force_simd_level(level);
      Case c(type, 5, 4, 45, random);
      Context context(2);
      const std::vector<float> apart = c.run(unfold_cpu, context, type, 0, 5);
      unfold_cpu(context, {c.y, c.h, c.post, c.comb, c.h});
      EXPECT_TRUE(same_bits(floats(c.h), apart));
    }
  }
  force_simd_level(simd_levels().front());
}

TEST(UnfoldCpu, CombMovesTheCopyOfItsFirstAxisToTheCopyOfItsSecond) {
  Random random(3);
  Case c(DType::f32, 1, 2, 1, random);
  c.post.at = {0, 0};
  c.comb.at = {0, 1, 0, 0};
  Context context;
  EXPECT_EQ(c.run(unfold_cpu, context, DType::f32, 0, 1), (std::vector<float>{0, c.h.get(0)}));
}

TEST(UnfoldCpu, SumsCopiesAscendingThenTheOutput) {
  Random random(4);
  Case c(DType::f32, 1, 2, 1, random);
  c.post.at = {1, 1};
  c.comb.at = {1, 1, 1, 1};
  c.y.set(0, 1);
  c.h.set(0, 1e30f);
  c.h.set(1, -1e30f);
  Context context;
  EXPECT_EQ(c.run(unfold_cpu, context, DType::f32, 0, 1), (std::vector<float>{1, 1}));
  c.y.set(0, -1e30f);
  c.h.set(1, 1);
  EXPECT_EQ(c.run(unfold_cpu, context, DType::f32, 0, 1), (std::vector<float>{0, 0}));
}

TEST(UnfoldCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  Case c(DType::bf16, 7, 4, 29, random);
  EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    return c.run(unfold_cpu, context, DType::bf16, first, n);
  }));
}

}  // namespace
}  // namespace cachalot
