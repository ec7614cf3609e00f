// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/output_projection/output_projection.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr DType both_types[] = {DType::bf16, DType::f32};

void add(Agreement& agreement, WeightFormat f, DType type, std::int64_t rows, std::int64_t groups, std::int64_t o_lora,
         std::int64_t in, Random& random) {
  SCOPED_TRACE(testing::Message() << groups << " groups, " << in << " -> " << o_lora);
  const StoredWeight w(f, groups * o_lora, in, random);
  Tensor<2> x(type, {rows, groups * in}, random);
  agreement.add(output_projection_ref, output_projection_cpu, [&](auto op, Context& context) {
    Tensor<2> y(type, {rows, groups * o_lora});
    op(context, {x, w.weight, groups, y});
    return floats(y);
  });
}

TEST(OutputProjectionCpu, AgreesWithTheReference) {
  for (const DType type : both_types) {
    Random random(1);
    Agreement agreement;
    for (const WeightFormat f : {WeightFormat::e4m3_block32, WeightFormat::bf16, WeightFormat::f32}) {
      for (const std::int64_t groups : {1, 2, 3, 8}) {
        for (const std::int64_t o_lora : {1, 5, 31, 32, 33, 64}) {  // most begin within a block of scales
          for (const std::int64_t in : {2, 30, 96}) {
            for (const std::int64_t rows : {0, 1, 5}) add(agreement, f, type, rows, groups, o_lora, in, random);
          }
        }
      }
    }
    expect_agrees(agreement, type);
  }
}

TEST(OutputProjectionCpu, AgreesAtTheReleasedWidthOfAGroup) {
  Random random(2);
  Agreement agreement;
  add(agreement, WeightFormat::e4m3_block32, DType::bf16, 3, 2, 64, 4096, random);
  expect_bf16_agrees(agreement);
}

// 17 beside 448 stays 17.
TEST(OutputProjectionCpu, InputIsNotQuantized) {
  std::vector<std::uint8_t> codes(32, 0);
  codes[1] = 0x38;
  const std::vector<std::uint8_t> scale = {128};
  Tensor<2> x(DType::bf16, {1, 32}), y(DType::bf16, {1, 1});
  x.set(0, 448);
  x.set(1, 17);
  Context context;
  output_projection_cpu(context, {x, {WeightFormat::e4m3_block32, 1, 32, codes.data(), scale.data()}, 1, y});
  EXPECT_EQ(y.get(0), 34);
}

// 18 values a group are padded to 32 for the lanes: the padding must not be the next group's.
TEST(OutputProjectionCpu, InfinityInOneGroupDoesNotReachItsNeighbour) {
  Random random(3);
  const StoredWeight w(WeightFormat::f32, 4, 18, random);
  Tensor<2> x(DType::f32, {1, 36}, random), y(DType::f32, {1, 4});
  x.set(18, std::numeric_limits<double>::infinity());
  Context context;
  output_projection_cpu(context, {x, w.weight, 2, y});
  EXPECT_TRUE(std::isfinite(y.get(0)) && std::isfinite(y.get(1)));
  EXPECT_FALSE(std::isfinite(y.get(2)) || std::isfinite(y.get(3)));
}

TEST(OutputProjectionCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  const StoredWeight w(WeightFormat::e4m3_block32, 66, 96, random);
  for (const DType type : both_types) {
    Tensor<2> x(type, {5, 192}, random);
    EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      Tensor<2> y(type, {n, 66});
      output_projection_cpu(context, {ConstValues<2>(x).part(first, n), w.weight, 2, y});
      return floats(y);
    }));
  }
}

}  // namespace
}  // namespace cachalot
