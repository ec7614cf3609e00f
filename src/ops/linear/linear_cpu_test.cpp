// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/linear/linear.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr WeightFormat every_format[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16,
                                         WeightFormat::e4m3_block32, WeightFormat::e2m1_row32};
constexpr DType both_types[] = {DType::bf16, DType::f32};

bool has_scales(WeightFormat f) { return f == WeightFormat::e4m3_block32 || f == WeightFormat::e2m1_row32; }

void add(Agreement& agreement, WeightFormat f, DType x_type, DType out_type, std::int64_t rows, std::int64_t out,
         std::int64_t in, Random& random) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(f) << ": " << rows << " rows, " << in << " -> " << out);
  const StoredWeight w(f, out, in, random);
  Tensor<2> x(x_type, {rows, in}, random);
  agreement.add(linear_ref, linear_cpu, [&](auto op, Context& context) {
    Tensor<2> y(out_type, {rows, out});
    op(context, {x, w.weight, y});
    return floats(y);
  });
}

TEST(LinearCpu, AgreesWithTheReferenceAtEveryShapeFormatAndType) {
  for (const WeightFormat f : every_format) {
    for (const DType x_type : both_types) {
      for (const DType out_type : both_types) {
        Random random(1);
        Agreement agreement;
        for (const std::int64_t in : {2, 14, 16, 18, 32, 34, 64, 96, 288, 1280}) {
          if (has_scales(f) && x_type == DType::bf16 && in % 32 != 0) continue;
          for (const std::int64_t out : {1, 3, 4, 5, 33, 70}) {
            for (const std::int64_t rows : {0, 1, 2, 3, 7}) add(agreement, f, x_type, out_type, rows, out, in, random);
          }
        }
        // A lone output may cancel: then the error is large beside it.
        out_type == DType::bf16 ? expect_bf16_agrees(agreement) : expect_f32_agrees(agreement, 2e-5);
      }
    }
  }
}

TEST(LinearCpu, AgreesWithTheReferenceAtRandomShapes) {
  Random random(2);
  Agreement agreement;
  for (int i = 0; i < 60; ++i) {
    const WeightFormat f = every_format[random.below(5)];
    const std::int64_t rows = 1 + random.below(9), out = 1 + random.below(100), in = 32 * (1 + random.below(20));
    add(agreement, f, both_types[random.below(2)], DType::bf16, rows, out, in, random);
  }
  expect_bf16_agrees(agreement);
}

TEST(LinearCpu, AgreesAtTheReleasedWidths) {
  Random random(3);
  Agreement agreement;
  for (const WeightFormat f : {WeightFormat::e4m3_block32, WeightFormat::e2m1_row32, WeightFormat::bf16})
    add(agreement, f, DType::bf16, DType::bf16, 5, 96, 5120, random);
  expect_bf16_agrees(agreement);
}

TEST(LinearCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const WeightFormat f : every_format) {
    for (const DType type : both_types) {
      const StoredWeight w(f, 37, 544, random);
      Tensor<2> x(type, {8, 544}, random);
      EXPECT_TRUE(rows_stand_alone(8, [&](std::int64_t first, std::int64_t n) {
        Context context(2);
        Tensor<2> y(type, {n, 37});
        linear_cpu(context, {ConstValues<2>(x).part(first, n), w.weight, y});
        return floats(y);
      }));
    }
  }
}

// A row of zeros, and rows whose groups of 32 have nothing in common.
TEST(LinearCpu, QuantizesItsInputAsTheReferenceDoes) {
  Random random(5);
  const StoredWeight w(WeightFormat::e4m3_block32, 40, 128, random);
  Tensor<2> x(DType::bf16, {6, 128}, random);
  for (std::int64_t i = 0; i < 128; ++i) {
    x.set(i, 0);
    x.set(128 + i, x.get(128 + i) * std::ldexp(1.0f, static_cast<int>(i / 32 * 9 - 20)));
    x.set(256 + i, x.get(256 + i) * 1e-6f);
    x.set(384 + i, i % 32 == 0 ? 448 : x.get(384 + i));
  }
  Agreement agreement;
  agreement.add(linear_ref, linear_cpu, [&](auto op, Context& context) {
    Tensor<2> y(DType::f32, {6, 40});
    op(context, {x, w.weight, y});
    return floats(y);
  });
  expect_f32_agrees(agreement, 1e-6);
}

TEST(LinearCpu, ReadsAndWritesPartsOfWiderRows) {
  Random random(6);
  const StoredWeight w(WeightFormat::e4m3_block32, 21, 64, random);
  for (const DType type : both_types) {
    Tensor<2> x(type, {3, 100}, random);
    Agreement agreement;
    agreement.add(linear_ref, linear_cpu, [&](auto op, Context& context) {
      Tensor<2> y(type, {3, 30});
      op(context, {ConstValues<2>(x).columns(32, 64), w.weight, y.values().columns(4, 21)});
      return floats(y);
    });
    expect_f32_agrees(agreement, type == DType::f32 ? 1e-6 : 1e-2);
  }
}

TEST(LinearCpu, NanStaysInItsRow) {
  Random random(7);
  for (const WeightFormat f : every_format) {
    const StoredWeight w(f, 3, 64, random);
    for (const std::int64_t at : {0, 4, 31, 63}) {
      Tensor<2> x(DType::f32, {2, 64}, random), y(DType::bf16, {2, 3});
      x.set(at, std::nan(""));
      Context context;
      linear_cpu(context, {x, w.weight, y});
      for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(std::isnan(y.get(i)), i < 3) << static_cast<int>(f) << " at " << at;
    }
  }
}

TEST(LinearCpuDeathTest, ShapesThatDoNotFitStop) {
  Random random(8);
  const StoredWeight w(WeightFormat::bf16, 4, 32, random);
  Context context;
  Tensor<2> x(DType::f32, {1, 31}), y(DType::f32, {1, 4});
  EXPECT_DEATH(linear_cpu(context, {x, w.weight, y}), "shapes fit");
}

}  // namespace
}  // namespace cachalot
