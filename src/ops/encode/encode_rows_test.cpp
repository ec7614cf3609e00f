// SPDX-License-Identifier: Apache-2.0
#include "ops/encode/encode_rows.h"

#include <gtest/gtest.h>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

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

void run(Tensor<2>& x, Place& place) {
  Context context;
  encode_rows_ref(context, {x, place.out, place.row});
}

TEST(EncodeRows, EachRowLandsInItsPlaceAndNowhereElse) {
  Random random(1);
  for (const RowFormat f : every_format) {
    for (const std::int64_t width : {32, 64, 512}) {
      for (const DType type : {DType::bf16, DType::f32}) {
        Tensor<2> x(type, {4, width}, random, 5);
        Place place(f, 4, width);
        run(x, place);
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

TEST(EncodeRows, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  for (const RowFormat f : every_format) {
    Tensor<2> x(DType::bf16, {5, 64}, random);
    Place all(f, 5, 64);
    run(x, all);
    for (std::int64_t r = 0; r < 5; ++r) {
      Tensor<2> one(DType::bf16, {1, 64});
      one.bytes = x.row_bytes(r);
      Place place(f, 1, 64);
      run(one, place);
      const PackedRowsOut::Place among = all[r];
      EXPECT_TRUE(std::equal(among.codes, among.codes + code_bytes(f, 64), place[0].codes));
      EXPECT_TRUE(std::equal(among.scales, among.scales + scale_bytes(f, 64), place[0].scales));
    }
  }
}

TEST(EncodeRows, WithoutNumbersRowsGoSideBySide) {
  Random random(3);
  Tensor<2> x(DType::bf16, {3, 64}, random);
  Place place(RowFormat::e2m1_e4m3_16, 3, 64), side_by_side(RowFormat::e2m1_e4m3_16, 3, 64);
  run(x, place);
  Context context;
  encode_rows_ref(context, {x, side_by_side.out, {}});
  for (std::int64_t r = 0; r < 3; ++r)
    EXPECT_TRUE(std::equal(place[r].codes, place[r].codes + 32, side_by_side.out[r].codes));
  EXPECT_EQ(side_by_side.out[3].codes[0], untouched);
}

TEST(EncodeRows, NoRowsIsNothingToDo) {
  Tensor<2> x(DType::bf16, {0, 32});
  Place place(RowFormat::e2m1_e8m0_32, 0, 32);
  run(x, place);
}

TEST(EncodeRowsDeathTest, WidthIsWholeGroups) {
  Tensor<2> x(DType::bf16, {1, 48});
  Place place(RowFormat::e2m1_e8m0_32, 1, 64);
  place.out.width = 48;
  EXPECT_DEATH(run(x, place), "whole groups");
}

}  // namespace
}  // namespace cachalot
