// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/encode/encode_rows.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr RowFormat every_format[] = {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16,
                                      RowFormat::e2m1_e8m0_32};

// Codes and scales of every row, as the numbers Agreement compares.
template <class Operator>
std::vector<float> bytes(Operator op, Context& context, Tensor<2>& x, RowFormat f) {
  const std::int64_t width = x.shape[1];
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(x.shape[0] * row_bytes(f, width)));
  op(context, {x, packed_rows(f, width, x.shape[0], memory.data(), RowLayout::records), {}});
  return {memory.begin(), memory.end()};
}

void expect_equal_bytes(Tensor<2>& x, RowFormat f) {
  Agreement agreement;
  agreement.add(encode_rows_ref, encode_rows_cpu, [&](auto op, Context& context) { return bytes(op, context, x, f); });
  EXPECT_EQ(agreement.unequal, 0) << name(f);
}

TEST(EncodeRowsCpu, GivesTheReferencesBytesAtEverySize) {
  Random random(1);
  for (const RowFormat f : every_format) {
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const float size : {0.0f, 1e-38f, 1e-12f, 1e-4f, 0.02f, 1.0f, 500.0f, 1e6f, 3e38f}) {
        for (const std::int64_t rows : {0, 1, 9}) {
          Tensor<2> x(type, {rows, rows == 1 ? 512 : 96}, random, size);
          expect_equal_bytes(x, f);
        }
      }
    }
  }
  Tensor<2> half_group(DType::f32, {3, 48}, random);
  expect_equal_bytes(half_group, RowFormat::e2m1_e4m3_16);
  Tensor<2> three(DType::bf16, {3, 3}, random);
  expect_equal_bytes(three, RowFormat::bf16);
  expect_equal_bytes(three, RowFormat::f32);
}

// Under a scale of 1, a step of 2^-9 e4m3 or 1/4 e2m1 apart: every code, every midpoint and the numbers beside it.
TEST(EncodeRowsCpu, RoundsEveryTieAsTheReferenceDoes) {
  for (const RowFormat f : {RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e8m0_32, RowFormat::e2m1_e4m3_16}) {
    const std::int64_t rows = 200;
    Tensor<2> x(DType::f32, {rows, 32});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < 32; ++i) {
        const double top = f == RowFormat::e4m3_e8m0_32 ? 448 : 6;
        const auto tie = static_cast<double>(r * 16 + i / 2) * (f == RowFormat::e4m3_e8m0_32 ? 0x1p-10 : 0x1p-7);
        float v = static_cast<float>(i % 16 == 0 ? top : r % 2 == 0 ? tie : tie * 16);
        if (i % 3 == 1) v = std::nextafter(v, 1e9f);
        if (i % 3 == 2) v = std::nextafter(v, 0.0f);
        x.set(r * 32 + i, i % 2 == 0 ? v : -v);
      }
    }
    expect_equal_bytes(x, f);
  }
}

TEST(EncodeRowsCpu, TreatsWhatIsNotFiniteAsTheReferenceDoes) {
  Random random(2);
  for (const RowFormat f : every_format) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Tensor<2> x(type, {6, 64}, random);
      for (const std::int64_t at : {3, 70, 95, 130, 200}) x.set(at, std::nan(""));
      for (const std::int64_t at : {40, 131, 256}) x.set(at, -std::numeric_limits<double>::infinity());
      expect_equal_bytes(x, f);
    }
  }
}

TEST(EncodeRowsCpuDeathTest, WidthIsWholeGroups) {
  Tensor<2> x(DType::bf16, {1, 48});
  Context context;
  EXPECT_DEATH(bytes(encode_rows_cpu, context, x, RowFormat::e2m1_e8m0_32), "whole groups");
}

}  // namespace
}  // namespace cachalot
