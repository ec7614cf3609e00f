// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::linear_test {
namespace {

using Linear = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Linear, each_backend(), place_name);

constexpr WeightFormat every_format[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16,
                                         WeightFormat::e4m3_block32, WeightFormat::e2m1_row32};

constexpr DType both_types[] = {DType::bf16, DType::f32};

Tensor<2> run(const On& on, Tensor<2> x, const Weight& w, DType out_type) {
  Tensor<2> out(out_type, {x.shape[0], w.out});
  on(&Backend::linear, {x, w, out});
  return out;
}

TEST_P(Linear, HandComputedProduct) {
  const std::vector<float> data = {1, 2, 3, -1, 0, 0.5f};
  Tensor<2> x(DType::f32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  const Tensor<2> y = run(on, x, {WeightFormat::f32, 2, 3, data.data()}, DType::f32);
  const float want[] = {8, 1, 26, -0.5f};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// An f32 input is never quantized, whatever the weight; the test sums exactly the numbers Weight::value names.
TEST_P(Linear, F32InputGivesTheProductOfTheDequantizedWeight) {
  Random random(1);
  for (const WeightFormat f : every_format) {
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {31, 32}, {33, 96}, {40, 66}}) {
      const StoredWeight w(f, out, in, random);
      Tensor<2> x(DType::f32, {3, in}, random);
      const Tensor<2> y = run(on, x, w.weight, DType::f32);
      for (std::int64_t row = 0; row < 3; ++row) {
        for (std::int64_t o = 0; o < out; ++o) {
          long double want = 0;
          for (std::int64_t i = 0; i < in; ++i)
            want += static_cast<long double>(x.get(row * in + i)) * w.weight.value(o, i);
          ASSERT_NEAR(y.get(row * out + o), static_cast<double>(want),
                      1e-5 * std::abs(static_cast<double>(want)) + 1e-6);
        }
      }
    }
  }
}

// With scales and bf16 the input goes through fp8 first: 17 beside 448 becomes 16.
TEST_P(Linear, Bf16InputOfAWeightWithScalesIsQuantizedPer32) {
  std::vector<std::uint8_t> codes(64, 0);
  codes[1] = 0x38;   // 1
  codes[33] = 0x40;  // 2
  const std::vector<std::uint8_t> scale = {128, 126};
  const Weight w{WeightFormat::e4m3_block32, 1, 64, codes.data(), scale.data()};
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> x(type, {1, 64});
    x.set(0, 448);
    x.set(1, 17);
    x.set(33, 18);  // exact
    EXPECT_EQ(run(on, x, w, DType::f32).get(0), type == DType::bf16 ? 16 * 2 + 18 : 17 * 2 + 18) << name(type);
  }
}

TEST_P(Linear, PlainWeightLeavesABf16InputAlone) {
  std::vector<bf16> data(32);
  data[1] = to_bf16(1.0f);
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 448);
  x.set(1, 17);
  EXPECT_EQ(run(on, x, {WeightFormat::bf16, 1, 32, data.data()}, DType::f32).get(0), 17);
}

TEST_P(Linear, LowNibbleMeetsTheEvenInput) {
  std::vector<std::uint8_t> codes(16, 0);
  codes[0] = 0x42;  // 1 and 2
  const std::vector<std::uint8_t> scale = {127};
  Tensor<2> x(DType::bf16, {1, 32});
  x.set(0, 1);
  x.set(1, 8);
  EXPECT_EQ(run(on, x, {WeightFormat::e2m1_row32, 1, 32, codes.data(), scale.data()}, DType::f32).get(0), 17);
}

// Three blocks whose partial sums are 2^24, 1 and 1: f32 in order gives 2^24, a wider sum 2^24 + 2.
TEST_P(Linear, QuantizedBlocksAreAddedInF32InOrder) {
  std::vector<std::uint8_t> codes(96, 0);
  codes[0] = codes[32] = codes[64] = 0x38;
  const std::vector<std::uint8_t> scale = {127, 127, 127};
  Tensor<2> x(DType::bf16, {1, 96});
  x.set(0, 0x1p24);
  x.set(32, 1);
  x.set(64, 1);
  EXPECT_EQ(run(on, x, {WeightFormat::e4m3_block32, 1, 96, codes.data(), scale.data()}, DType::f32).get(0), 0x1p24f);
}

TEST_P(Linear, Bf16OutputIsTheF32OutputRoundedOnce) {
  Random random(2);
  for (const WeightFormat f : every_format) {
    const StoredWeight w(f, 40, 64, random);
    Tensor<2> x(DType::bf16, {2, 64}, random);
    const Tensor<2> wide = run(on, x, w.weight, DType::f32);
    const Tensor<2> narrow = run(on, x, w.weight, DType::bf16);
    for (std::int64_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(narrow.get(i), wide.get(i), std::abs(wide.get(i)) / 256);
  }
}

TEST_P(Linear, NoRowsIsNothingToDo) {
  Random random(4);
  const StoredWeight w(WeightFormat::e4m3_block32, 3, 32, random);
  EXPECT_TRUE(run(on, Tensor<2>(DType::bf16, {0, 32}), w.weight, DType::bf16).bytes.empty());
}

bool has_scales(WeightFormat f) { return f == WeightFormat::e4m3_block32 || f == WeightFormat::e2m1_row32; }

void add(Agreement& agreement, WeightFormat f, DType x_type, DType out_type, std::int64_t rows, std::int64_t out,
         std::int64_t in, Random& random) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(f) << ": " << rows << " rows, " << in << " -> " << out);
  const StoredWeight w(f, out, in, random);
  Tensor<2> x(x_type, {rows, in}, random);
  agreement.add([&](const On& on) {
    Tensor<2> y(out_type, {rows, out});
    on(&Backend::linear, {x, w.weight, y});
    return floats(y);
  });
}

TEST(LinearAgreement, AtEveryShapeFormatAndType) {
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

TEST(LinearAgreement, AtRandomShapes) {
  Random random(2);
  Agreement agreement;
  for (int i = 0; i < 60; ++i) {
    const WeightFormat f = every_format[random.below(5)];
    const std::int64_t rows = 1 + random.below(9), out = 1 + random.below(100), in = 32 * (1 + random.below(20));
    add(agreement, f, both_types[random.below(2)], DType::bf16, rows, out, in, random);
  }
  expect_bf16_agrees(agreement);
}

TEST(LinearAgreement, AtTheReleasedWidths) {
  Random random(3);
  Agreement agreement;
  for (const WeightFormat f : {WeightFormat::e4m3_block32, WeightFormat::e2m1_row32, WeightFormat::bf16})
    add(agreement, f, DType::bf16, DType::bf16, 5, 96, 5120, random);
  expect_bf16_agrees(agreement);
}

TEST_P(Linear, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const WeightFormat f : every_format) {
    for (const DType type : both_types) {
      const std::int64_t out = type == DType::bf16 ? 37 : 33, in = type == DType::bf16 ? 544 : 160;
      const StoredWeight w(f, out, in, random);
      Tensor<2> x(type, {8, in}, random);
      EXPECT_TRUE(rows_stand_alone(8, [&](std::int64_t first, std::int64_t n) {
        Tensor<2> y(type, {n, out});
        on.with_threads(2)(&Backend::linear, {ConstValues<2>(x).part(first, n), w.weight, y});
        return floats(y);
      }));
    }
  }
}

// A row of zeros, and rows whose groups of 32 have nothing in common.
TEST(LinearAgreement, OnQuantizedInputs) {
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
  agreement.add([&](const On& on) {
    Tensor<2> y(DType::f32, {6, 40});
    on(&Backend::linear, {x, w.weight, y});
    return floats(y);
  });
  expect_f32_agrees(agreement, 1e-6);
}

TEST(LinearAgreement, OnPartsOfWiderRows) {
  Random random(6);
  const StoredWeight w(WeightFormat::e4m3_block32, 21, 64, random);
  for (const DType type : both_types) {
    Tensor<2> x(type, {3, 100}, random);
    Agreement agreement;
    agreement.add([&](const On& on) {
      Tensor<2> y(type, {3, 30});
      on(&Backend::linear, {ConstValues<2>(x).columns(32, 64), w.weight, y.values().columns(4, 21)});
      return floats(y);
    });
    expect_f32_agrees(agreement, type == DType::f32 ? 1e-6 : 1e-2);
  }
}

TEST_P(Linear, NanStaysInItsRow) {
  Random random(7);
  for (const WeightFormat f : every_format) {
    const StoredWeight w(f, 3, 64, random);
    for (const std::int64_t at : {0, 4, 31, 63}) {
      Tensor<2> x(at == 4 ? DType::bf16 : DType::f32, {2, 64}, random), y(DType::bf16, {2, 3});
      x.set(at, std::nan(""));
      on(&Backend::linear, {x, w.weight, y});
      for (std::int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(std::isnan(y.get(i)), i < 3) << static_cast<int>(f) << " at " << at;
    }
  }
}

TEST_P(Linear, ShapesThatDoNotFitStop) {
  Random random(8);
  const StoredWeight w(WeightFormat::bf16, 4, 32, random);
  Tensor<2> x(DType::f32, {1, 31}), y(DType::f32, {1, 4});
  EXPECT_DEATH(on(&Backend::linear, {x, w.weight, y}), "shapes fit");
}

}  // namespace
}  // namespace cachalot::linear_test
