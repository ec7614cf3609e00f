// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/confidence_head/confidence_head.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

TEST(ConfidenceHeadCpu, AgreesWithTheReference) {
  Random random(1);
  Agreement agreement;
  for (const DType x_type : {DType::bf16, DType::f32}) {
    for (const DType embedding_type : {DType::bf16, DType::f32}) {
      for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::f32}) {
        for (const std::int64_t dim : {1, 15, 16, 33, 5120}) {
          for (const std::int64_t rank : {1, 16, 31, 256}) {
            const StoredWeight w(f, 1, dim + rank, random);
            for (const std::int64_t rows : {0, 1, 5}) {
              Tensor<2> x(x_type, {rows, dim}, random), embedding(embedding_type, {rows, rank}, random);
              agreement.add(confidence_head_ref, confidence_head_cpu, [&](auto op, Context& context) {
                std::vector<float> out(static_cast<std::size_t>(rows));
                op(context, {x, embedding, w.weight, View<float, 1>(out.data(), {rows})});
                return out;
              });
            }
          }
        }
      }
    }
  }
  expect_f32_agrees(agreement, 2e-5);  // a lone row may cancel
}

TEST(ConfidenceHeadCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const StoredWeight w(WeightFormat::bf16, 1, 52, random);
  Tensor<2> x(DType::bf16, {5, 33}, random), embedding(DType::bf16, {5, 19}, random);
  EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    std::vector<float> out(static_cast<std::size_t>(n));
    confidence_head_cpu(context, {ConstValues<2>(x).part(first, n), ConstValues<2>(embedding).part(first, n), w.weight,
                                  View<float, 1>(out.data(), {n})});
    return out;
  }));
}

}  // namespace
}  // namespace cachalot
