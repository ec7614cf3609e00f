// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

std::vector<float> run(void (*op)(Context&, const MixArgs&), Context& context, ConstValues<3> h, const Weight& fn) {
  std::vector<float> mixes(static_cast<std::size_t>(h.extent(0) * fn.out));
  op(context, {h, fn, 1e-20f, View<float, 2>(mixes.data(), {h.extent(0), fn.out})});
  return mixes;
}

TEST(MixCpu, AgreesWithTheReference) {
  Random random(1);
  Agreement agreement;
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
      for (const std::int64_t dim : {1, 4, 5, 15, 16, 17, 31, 256}) {
        for (const std::int64_t rows : {0, 1, 3}) {
          const StoredWeight fn(WeightFormat::f32, (2 + copies) * copies, copies * dim, random);
          Tensor<3> h(type, {rows, copies, dim}, random, dim == 17 ? 1e-6f : 3.0f);
          agreement.add(mix_ref, mix_cpu,
                        [&](auto op, Context& context) { return run(op, context, h.values(), fn.weight); });
        }
      }
    }
  }
  expect_f32_agrees(agreement, 1e-6);
}

TEST(MixCpu, AgreesAtTheReleasedWidth) {
  Random random(2);
  Agreement agreement;
  const StoredWeight fn(WeightFormat::f32, 24, 4 * 5120, random);
  Tensor<3> h(DType::bf16, {4, 4, 5120}, random);
  agreement.add(mix_ref, mix_cpu, [&](auto op, Context& context) { return run(op, context, h.values(), fn.weight); });
  expect_f32_agrees(agreement, 1e-5);  // 20480 terms in f32
}

TEST(MixCpu, CopiesMayStandApart) {
  Random random(3);
  const StoredWeight fn(WeightFormat::f32, 8, 2 * 9, random);
  Tensor<3> wide(DType::bf16, {3, 2, 20}, random);
  const ConstValues<3> h(wide.bytes.data(), DType::bf16, {3, 2, 9}, {40, 20, 1});
  Agreement agreement;
  agreement.add(mix_ref, mix_cpu, [&](auto op, Context& context) { return run(op, context, h, fn.weight); });
  expect_f32_agrees(agreement, 1e-6);
}

TEST(MixCpu, RowOfZerosGivesZeros) {
  Random random(4);
  const StoredWeight fn(WeightFormat::f32, 24, 4 * 19, random);
  Tensor<3> h(DType::bf16, {1, 4, 19});
  Context context;
  EXPECT_EQ(run(mix_cpu, context, h.values(), fn.weight), std::vector<float>(24));
}

TEST(MixCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  const StoredWeight fn(WeightFormat::f32, 24, 4 * 31, random);
  Tensor<3> h(DType::bf16, {7, 4, 31}, random);
  EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    return run(mix_cpu, context, h.values().part(first, n), fn.weight);
  }));
}

}  // namespace
}  // namespace cachalot
