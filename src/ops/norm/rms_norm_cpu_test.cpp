// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rms_norm.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr DType both_types[] = {DType::bf16, DType::f32};

TEST(RmsNormCpu, AgreesWithTheReferenceAtEveryWidthTypeAndSize) {
  for (const DType out_type : both_types) {
    Random random(1);
    Agreement agreement;
    for (const DType x_type : both_types) {
      for (const DType weight_type : both_types) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 512, 1280, 5120}) {
          for (const float scale : {1e-12f, 1e-3f, 1.0f, 1e15f}) {
            Tensor<2> x(x_type, {5, dim}, random, scale);
            Tensor<1> weight(weight_type, {dim}, random);
            agreement.add(rms_norm_ref, rms_norm_cpu, [&](auto op, Context& context) {
              Tensor<2> y(out_type, {5, dim});
              op(context, {x, weight, dim % 2 == 0 ? 1e-20f : 1e-6f, y});
              return floats(y);
            });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

TEST(RmsNormCpu, RowOfZerosGivesZerosNotNan) {
  Tensor<2> x(DType::bf16, {2, 19}), y(DType::bf16, {2, 19});
  Random random(2);
  Tensor<1> weight(DType::bf16, {19}, random);
  Context context;
  rms_norm_cpu(context, {x, weight, 1e-20f, y});
  for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get(i), 0);
}

TEST(RmsNormCpu, MayWriteOverItsInputAndNoRowsIsNoWork) {
  Random random(3);
  for (const std::int64_t rows : {0, 1, 6}) {
    Tensor<2> x(DType::bf16, {rows, 67}, random), apart(DType::bf16, {rows, 67});
    Tensor<1> weight(DType::bf16, {67}, random);
    Context context(2);
    rms_norm_cpu(context, {x, weight, 1e-20f, apart});
    rms_norm_cpu(context, {x, weight, 1e-20f, x});
    EXPECT_EQ(x.bytes, apart.bytes);
  }
}

TEST(RmsNormCpu, WritesOnlyItsOwnColumns) {
  Random random(4);
  for (const DType type : both_types) {
    Tensor<2> x(type, {3, 40}, random), y(type, {3, 40});
    Tensor<1> weight(type, {19}, random);
    Context context;
    rms_norm_cpu(context, {ConstValues<2>(x).columns(5, 19), weight, 1e-20f, y.values().columns(7, 19)});
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get(i) != 0, i % 40 >= 7 && i % 40 < 26) << i;
  }
}

TEST(RmsNormCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  for (const DType type : both_types) {
    Tensor<2> x(type, {9, 97}, random);
    Tensor<1> weight(type, {97}, random);
    EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      Tensor<2> y(type, {n, 97});
      rms_norm_cpu(context, {ConstValues<2>(x).part(first, n), weight, 1e-20f, y});
      return floats(y);
    }));
  }
}

TEST(RmsNormCpu, NanStaysInItsRow) {
  Random random(6);
  Tensor<2> x(DType::bf16, {2, 18}, random), y(DType::bf16, {2, 18});
  x.set(17, std::nan(""));
  Tensor<1> weight(DType::bf16, {18}, random);
  Context context;
  rms_norm_cpu(context, {x, weight, 1e-20f, y});
  for (std::int64_t i = 0; i < 36; ++i) EXPECT_EQ(std::isnan(y.get(i)), i < 18) << i;
}

}  // namespace
}  // namespace cachalot
