// SPDX-License-Identifier: Apache-2.0
#include "ops/encode/encode_rows.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::encode_rows_test {
namespace {

using EncodeRows = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, EncodeRows, each_backend(), place_name);

constexpr RowFormat every_format[] = {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16,
                                      RowFormat::e2m1_e8m0_32};
constexpr std::uint8_t untouched = 0xEE;

// Where rows go is the caller's: here from the last place to the first, one free place between two rows.
struct Place {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  PackedRowsOut out;
  Array<std::int32_t, 1> row;

  Place(RowFormat f, std::int64_t rows, std::int64_t width) : row({rows}) {
    codes.assign(static_cast<std::size_t>(2 * rows * code_bytes(f, width)), untouched);
    scales.assign(static_cast<std::size_t>(2 * rows * scale_bytes(f, width)), untouched);
    out = {f, width, 2 * rows, codes.data(), scales.data()};
    for (std::size_t r = 0; r < row.at.size(); ++r) row.at[r] = static_cast<std::int32_t>(2 * (row.at.size() - 1 - r));
  }
  PackedRowsOut::Place operator[](std::int64_t r) const { return out[row.at[static_cast<std::size_t>(r)]]; }
};

void run(const On& on, Tensor<2>& x, Place& place) { on(&Backend::encode_rows, {x, place.out, place.row}); }

TEST_P(EncodeRows, EachRowLandsInItsPlaceAndNowhereElse) {
  Random random(1);
  for (const RowFormat f : every_format) {
    for (const std::int64_t width : {32, 64, 512}) {
      for (const DType type : {DType::bf16, DType::f32}) {
        Tensor<2> x(type, {4, width}, random, 5);
        Place place(f, 4, width);
        run(on, x, place);
        std::vector<float> row(static_cast<std::size_t>(width));
        for (std::int64_t r = 0; r < 4; ++r) {
          for (std::int64_t i = 0; i < width; ++i) row[static_cast<std::size_t>(i)] = x.get(r * width + i);
          const StoredRows want(f, width, row);
          const PackedRowsOut::Place got = place[r];
          EXPECT_TRUE(std::equal(want.codes.begin(), want.codes.end(), got.codes)) << name(f) << " " << r;
          EXPECT_TRUE(std::equal(want.scales.begin(), want.scales.end(), got.scales)) << name(f) << " " << r;
          for (std::int64_t i = 0; i < code_bytes(f, width); ++i) {
            ASSERT_EQ(got.codes[code_bytes(f, width) + i], untouched);
          }
        }
      }
    }
  }
}

TEST_P(EncodeRows, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  for (const RowFormat f : every_format) {
    Tensor<2> x(DType::bf16, {5, 64}, random);
    Place all(f, 5, 64);
    run(on, x, all);
    for (std::int64_t r = 0; r < 5; ++r) {
      Tensor<2> one(DType::bf16, {1, 64});
      one.bytes = x.row_bytes(r);
      Place place(f, 1, 64);
      run(on, one, place);
      const PackedRowsOut::Place among = all[r];
      EXPECT_TRUE(std::equal(among.codes, among.codes + code_bytes(f, 64), place[0].codes));
      EXPECT_TRUE(std::equal(among.scales, among.scales + scale_bytes(f, 64), place[0].scales));
    }
  }
}

TEST_P(EncodeRows, WithoutNumbersRowsGoSideBySide) {
  Random random(3);
  Tensor<2> x(DType::bf16, {3, 64}, random);
  Place place(RowFormat::e2m1_e4m3_16, 3, 64), side_by_side(RowFormat::e2m1_e4m3_16, 3, 64);
  run(on, x, place);
  on(&Backend::encode_rows, {x, side_by_side.out, {}});
  for (std::int64_t r = 0; r < 3; ++r)
    EXPECT_TRUE(std::equal(place[r].codes, place[r].codes + 32, side_by_side.out[r].codes));
  EXPECT_EQ(side_by_side.out[3].codes[0], untouched);
}

TEST_P(EncodeRows, NoRowsIsNothingToDo) {
  Tensor<2> x(DType::bf16, {0, 32});
  Place place(RowFormat::e2m1_e8m0_32, 0, 32);
  run(on, x, place);
}

TEST_P(EncodeRows, WidthIsWholeGroups) {
  Tensor<2> x(DType::bf16, {1, 48});
  Place place(RowFormat::e2m1_e8m0_32, 1, 64);
  place.out.width = 48;
  EXPECT_DEATH(run(on, x, place), "whole groups");
}

// Codes and scales of every row, as the numbers Agreement compares.
std::vector<float> bytes(const On& on, Tensor<2>& x, RowFormat f) {
  const std::int64_t width = x.shape[1];
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(x.shape[0] * row_bytes(f, width)));
  on(&Backend::encode_rows, {x, packed_rows(f, width, x.shape[0], memory.data(), RowLayout::records), {}});
  return {memory.begin(), memory.end()};
}

void expect_equal_bytes(Tensor<2>& x, RowFormat f) {
  Agreement agreement;
  agreement.add([&](const On& on) { return bytes(on, x, f); });
  EXPECT_EQ(agreement.unequal, 0) << name(f);
}

TEST(EncodeRowsAgreement, AtEverySize) {
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
TEST(EncodeRowsAgreement, OnEveryTie) {
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

TEST(EncodeRowsAgreement, OnWhatIsNotFinite) {
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

}  // namespace
}  // namespace cachalot::encode_rows_test
