// SPDX-License-Identifier: Apache-2.0
#include "ops/lookup/lookup.h"

#include "ops/test_backends.h"

namespace cachalot::lookup_test {
namespace {

using Lookup = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Lookup, each_backend(), place_name);

Tensor<2> run(const On& on, const PackedRows& table, Array<std::int64_t, 2> id, DType type) {
  Tensor<2> out(type, {id.shape[0], id.shape[1] * table.width});
  on(&Backend::lookup, {table, id, out});
  return out;
}

Array<std::int64_t, 2> ids(std::array<std::int64_t, 2> shape, Random& random, std::int64_t rows) {
  Array<std::int64_t, 2> a(shape);
  for (std::int64_t& id : a.at) id = random.below(rows);
  return a;
}

TEST_P(Lookup, ColumnsStandSideBySideInTheOrderOfTheIds) {
  const StoredRows table(RowFormat::bf16, 2, {0, 1, 10, 11, 20, 21});
  Array<std::int64_t, 2> id({2, 2});
  id.at = {2, 0, 1, 1};
  const Tensor<2> y = run(on, table.rows, id, DType::f32);
  const float want[] = {20, 21, 0, 1, 10, 11, 10, 11};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// A code times a power of two has few bits: bf16 holds it, so both types give the same numbers.
TEST_P(Lookup, DecodesEveryFormatExactlyInBothTypes) {
  Random random(1);
  for (const RowFormat f : {RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e8m0_32}) {
    const StoredRows table(f, 64, random_floats(7 * 64, random, 30));
    const auto id = ids({5, 24}, random, 7);
    for (const DType type : {DType::bf16, DType::f32}) {
      const Tensor<2> y = run(on, table.rows, id, type);
      for (std::size_t i = 0; i < id.at.size(); ++i) {
        const auto want = table.row(id.at[i]);
        for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(y.get(static_cast<std::int64_t>(64 * i + j)), want[j]);
      }
    }
  }
}

TEST_P(Lookup, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const StoredRows table(RowFormat::e4m3_e8m0_32, 32, random_floats(9 * 32, random));
  const auto id = ids({4, 3}, random, 9);
  const Tensor<2> all = run(on, table.rows, id, DType::bf16);
  for (std::int64_t row = 0; row < 4; ++row) {
    Array<std::int64_t, 2> one({1, 3});
    for (std::int64_t i = 0; i < 3; ++i) one.view()[0][i] = id.at[static_cast<std::size_t>(3 * row + i)];
    EXPECT_EQ(run(on, table.rows, one, DType::bf16).bytes, all.row_bytes(row));
  }
}

TEST_P(Lookup, NoRowsOrNoColumnsIsNothingToDo) {
  const StoredRows table(RowFormat::bf16, 2, {1, 2});
  EXPECT_TRUE(run(on, table.rows, Array<std::int64_t, 2>({0, 3}), DType::bf16).bytes.empty());
  EXPECT_TRUE(run(on, table.rows, Array<std::int64_t, 2>({3, 0}), DType::bf16).bytes.empty());
}

TEST_P(Lookup, RowOutsideTheTableIsOurMistake) {
  const StoredRows table(RowFormat::bf16, 2, {1, 2});
  EXPECT_DEATH(run(on, table.rows, Array<std::int64_t, 2>({1, 1}, 1), DType::bf16), "exists");
  EXPECT_DEATH(run(on, table.rows, Array<std::int64_t, 2>({1, 1}, -1), DType::bf16), "exists");
}

TEST(LookupAgreement, FromEveryFormatIntoBothTypes) {
  Random random(1);
  for (const RowFormat f :
       {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16, RowFormat::e2m1_e8m0_32}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Agreement agreement;
      for (const std::int64_t width : {32, 256, 5120}) {
        const StoredRows table(f, width, random_floats(7 * width, random, 30));
        for (const std::array<std::int64_t, 2> shape : {std::array<std::int64_t, 2>{0, 3}, {3, 0}, {1, 1}, {5, 24}}) {
          Array<std::int64_t, 2> id(shape);
          for (std::int64_t& i : id.at) i = random.below(7);
          agreement.add([&](const On& on) {
            Tensor<2> y(type, {shape[0], shape[1] * width});
            on(&Backend::lookup, {table.rows, id, y});
            return floats(y);
          });
        }
      }
      EXPECT_EQ(agreement.unequal, 0) << name(f);
    }
  }
}

TEST_P(Lookup, AWidthOfThreeGroupsIsDecodedWhole) {
  Random random(2);
  const StoredRows table(RowFormat::e2m1_e4m3_16, 48, random_floats(96, random));
  Array<std::int64_t, 2> id({1, 1}, 1);
  Tensor<2> y(DType::f32, {1, 48});
  on(&Backend::lookup, {table.rows, id, y});
  EXPECT_EQ(floats(y), table.row(1));
}

TEST(LookupAgreement, AtWidthsThatFillNoRegister) {
  Random random(2);
  for (const std::int64_t width : {1, 2, 3, 15, 17, 33, 47}) {
    const StoredRows table(RowFormat::bf16, width, random_floats(3 * width, random));
    Array<std::int64_t, 2> id({2, 2});
    id.at = {2, 0, 1, 1};
    Agreement agreement;
    agreement.add([&](const On& on) {
      Tensor<2> y(DType::bf16, {2, 2 * width});
      on(&Backend::lookup, {table.rows, id, y});
      return floats(y);
    });
    EXPECT_EQ(agreement.unequal, 0) << width;
  }
}

// Every code of the eight-bit format, NaN among them, under large, small and NaN scales.
TEST(LookupAgreement, OnEveryCodeUnderEveryScale) {
  std::vector<std::uint8_t> codes(256 * 256), scales(256 * 8);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(i / 8);
  for (const RowFormat f : {RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e8m0_32, RowFormat::e2m1_e4m3_16}) {
    const std::int64_t width = f == RowFormat::e4m3_e8m0_32 ? 256 : f == RowFormat::e2m1_e8m0_32 ? 256 : 128;
    const PackedRows table{f, width, 256, codes.data(), scales.data()};
    Array<std::int64_t, 2> id({256, 1});
    for (std::size_t i = 0; i < 256; ++i) id.at[i] = static_cast<std::int64_t>(i);
    Agreement agreement;
    agreement.add([&](const On& on) {
      Tensor<2> y(DType::f32, {256, width});
      on(&Backend::lookup, {table, id, y});
      for (std::int64_t i = 0; i < y.size(); ++i) {
        if (!std::isfinite(y.get(i))) y.set(i, std::isnan(y.get(i)) ? -77 : 77);
      }
      return floats(y);
    });
    EXPECT_EQ(agreement.unequal, 0) << name(f);
  }
}

}  // namespace
}  // namespace cachalot::lookup_test
