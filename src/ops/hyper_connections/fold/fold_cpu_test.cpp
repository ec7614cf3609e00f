// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

std::vector<float> run(void (*op)(Context&, const FoldArgs&), Context& context, DType type, ConstValues<3> h,
                       View<const float, 2> mix) {
  Tensor<2> out(type, {h.extent(0), h.extent(2)});
  op(context, {h, mix, out});
  return floats(out);
}

TEST(FoldCpu, AgreesWithTheReference) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 5120}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            Tensor<3> h(type, {rows, copies, dim}, random);
            Array<float, 2> mix({rows, copies});
            mix.at = random_floats(rows * copies, random);
            agreement.add(fold_ref, fold_cpu,
                          [&](auto op, Context& context) { return run(op, context, out_type, h.values(), mix); });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

TEST(FoldCpu, OneHotMixReturnsThatCopyExactly) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> h(type, {1, 4, 37}, random);
    for (std::size_t c = 0; c < 4; ++c) {
      Array<float, 2> mix({1, 4});
      mix.at[c] = 1;
      Context context;
      const auto all = floats(h);
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(37 * c);
      EXPECT_EQ(run(fold_cpu, context, type, h.values(), mix), std::vector<float>(at, at + 37));
    }
  }
}

TEST(FoldCpu, SumsCopiesAscending) {
  Tensor<3> h(DType::f32, {1, 3, 1});
  h.set(0, 1e30f);
  h.set(1, -1e30f);
  h.set(2, 1);
  Context context;
  EXPECT_EQ(run(fold_cpu, context, DType::f32, h.values(), Array<float, 2>({1, 3}, 1)), (std::vector<float>{1}));
}

TEST(FoldCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  Tensor<3> h(DType::bf16, {9, 4, 21}, random);
  Array<float, 2> mix({9, 4});
  mix.at = random_floats(36, random);
  EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    return run(fold_cpu, context, DType::bf16, h.values().part(first, n), mix.view().part(first, n));
  }));
}

}  // namespace
}  // namespace cachalot
