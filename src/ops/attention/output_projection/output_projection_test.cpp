// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/output_projection/output_projection.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::output_projection_test {
namespace {

using OutputProjection = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, OutputProjection, each_backend(), place_name);

Tensor<2> run(const On& on, Tensor<2> x, const Weight& w, std::int64_t groups, DType type) {
  Tensor<2> out(type, {x.shape[0], w.out});
  on(&Backend::output_projection, {x, w, groups, out});
  return out;
}

// Two groups of two inputs and two outputs each.
TEST_P(OutputProjection, EachGroupMeetsItsOwnRows) {
  const std::vector<float> w = {1, 0, 0, 1, 1, 1, 1, -1};
  Tensor<2> x(DType::f32, {1, 4});
  for (std::int64_t i = 0; i < 4; ++i) x.set(i, static_cast<double>(10 + i));
  const Tensor<2> y = run(on, x, {WeightFormat::f32, 4, 2, w.data()}, 2, DType::f32);
  const float want[] = {10, 11, 25, -1};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// wo_a is stored fp8 but used as bf16: 17 beside 448 stays 17.
TEST_P(OutputProjection, InputIsNotQuantized) {
  std::vector<std::uint8_t> codes(32, 0);
  codes[1] = 0x38;
  const std::vector<std::uint8_t> scale = {128};
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 448);
  x.set(1, 17);
  EXPECT_EQ(run(on, x, {WeightFormat::e4m3_block32, 1, 32, codes.data(), scale.data()}, 1, DType::bf16).get(0), 34);
}

TEST_P(OutputProjection, MatchesTheBlockDiagonalMatrix) {
  Random random(1);
  for (const std::int64_t groups : {1, 2, 8}) {
    for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32}) {
      const std::int64_t in = 96;
      const std::int64_t o_lora = 32;
      const StoredWeight w(f, groups * o_lora, in, random);
      Tensor<2> x(DType::bf16, {2, groups * in}, random);
      const Tensor<2> y = run(on, x, w.weight, groups, DType::f32);
      for (std::int64_t o = 0; o < groups * o_lora; ++o) {
        double want = 0;
        for (std::int64_t column = 0; column < groups * in; ++column) {  // the whole matrix, zeros off the diagonal
          const double entry = column / in == o / o_lora ? w.weight.value(o, column % in) : 0.0f;
          want += entry * x.get(groups * in + column);
        }
        ASSERT_NEAR(y.get(groups * o_lora + o), want, 1e-5 * std::abs(want) + 1e-6);
      }
    }
  }
}

TEST_P(OutputProjection, RowsOfTheWeightFillTheGroups) {
  Random random(3);
  const StoredWeight w(WeightFormat::bf16, 7, 4, random);
  EXPECT_DEATH(run(on, Tensor<2>(DType::bf16, {1, 8}), w.weight, 2, DType::bf16), "shapes fit");
}

constexpr DType both_types[] = {DType::bf16, DType::f32};

void add(Agreement& agreement, WeightFormat f, DType type, std::int64_t rows, std::int64_t groups, std::int64_t o_lora,
         std::int64_t in, Random& random) {
  SCOPED_TRACE(testing::Message() << groups << " groups, " << in << " -> " << o_lora);
  const StoredWeight w(f, groups * o_lora, in, random);
  Tensor<2> x(type, {rows, groups * in}, random);
  agreement.add([&](const On& on) {
    Tensor<2> y(type, {rows, groups * o_lora});
    on(&Backend::output_projection, {x, w.weight, groups, y});
    return floats(y);
  });
}

TEST(OutputProjectionAgreement, AtEverySizeAndFormat) {
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

TEST(OutputProjectionAgreement, AtTheReleasedWidthOfAGroup) {
  Random random(2);
  Agreement agreement;
  add(agreement, WeightFormat::e4m3_block32, DType::bf16, 3, 2, 64, 4096, random);
  expect_bf16_agrees(agreement);
}

// 18 values a group are padded to 32 for the lanes: the padding must not be the next group's.
TEST_P(OutputProjection, InfinityInOneGroupDoesNotReachItsNeighbour) {
  Random random(3);
  const StoredWeight w(WeightFormat::f32, 4, 18, random);
  Tensor<2> x(DType::f32, {1, 36}, random), y(DType::f32, {1, 4});
  x.set(18, std::numeric_limits<double>::infinity());
  on(&Backend::output_projection, {x, w.weight, 2, y});
  EXPECT_TRUE(std::isfinite(y.get(0)) && std::isfinite(y.get(1)));
  EXPECT_FALSE(std::isfinite(y.get(2)) || std::isfinite(y.get(3)));
}

TEST_P(OutputProjection, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {66, 96}}) {
    const StoredWeight w(WeightFormat::e4m3_block32, out, in, random);
    for (const DType type : both_types) {
      Tensor<2> x(type, {5, 2 * in}, random);
      EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
        Tensor<2> y(type, {n, w.weight.out});
        on.with_threads(2)(&Backend::output_projection, {x.values().part(first, n), w.weight, 2, y});
        return floats(y);
      }));
    }
  }
}

}  // namespace
}  // namespace cachalot::output_projection_test
