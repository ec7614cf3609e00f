// SPDX-License-Identifier: Apache-2.0
#include "ops/lookup/lookup.h"

#include <gtest/gtest.h>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

Tensor<2> run(const PackedRows& table, Array<std::int64_t, 2> id, DType type) {
  Context context;
  Tensor<2> out(type, {id.shape[0], id.shape[1] * table.width});
  lookup_ref(context, {table, id, out});
  return out;
}

Array<std::int64_t, 2> ids(std::array<std::int64_t, 2> shape, Random& random, std::int64_t rows) {
  Array<std::int64_t, 2> a(shape);
  for (std::int64_t& id : a.at) id = random.below(rows);
  return a;
}

TEST(Lookup, ColumnsStandSideBySideInTheOrderOfTheIds) {
  const StoredRows table(RowFormat::bf16, 2, {0, 1, 10, 11, 20, 21});
  Array<std::int64_t, 2> id({2, 2});
  id.at = {2, 0, 1, 1};
  const Tensor<2> y = run(table.rows, id, DType::f32);
  const float want[] = {20, 21, 0, 1, 10, 11, 10, 11};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.get(i), want[i]) << i;
}

// A code times a power of two has few bits: bf16 holds it, so both types give the same numbers.
TEST(Lookup, DecodesEveryFormatExactlyInBothTypes) {
  Random random(1);
  for (const RowFormat f : {RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e8m0_32}) {
    const StoredRows table(f, 64, random_floats(7 * 64, random, 30));
    const auto id = ids({5, 24}, random, 7);
    for (const DType type : {DType::bf16, DType::f32}) {
      const Tensor<2> y = run(table.rows, id, type);
      for (std::size_t i = 0; i < id.at.size(); ++i) {
        const auto want = table.row(id.at[i]);
        for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(y.get(static_cast<std::int64_t>(64 * i + j)), want[j]);
      }
    }
  }
}

TEST(Lookup, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const StoredRows table(RowFormat::e4m3_e8m0_32, 32, random_floats(9 * 32, random));
  const auto id = ids({4, 3}, random, 9);
  const Tensor<2> all = run(table.rows, id, DType::bf16);
  for (std::int64_t row = 0; row < 4; ++row) {
    Array<std::int64_t, 2> one({1, 3});
    for (std::int64_t i = 0; i < 3; ++i) one.view()[0][i] = id.at[static_cast<std::size_t>(3 * row + i)];
    EXPECT_EQ(run(table.rows, one, DType::bf16).bytes, all.row_bytes(row));
  }
}

TEST(Lookup, NoRowsOrNoColumnsIsNothingToDo) {
  const StoredRows table(RowFormat::bf16, 2, {1, 2});
  EXPECT_TRUE(run(table.rows, Array<std::int64_t, 2>({0, 3}), DType::bf16).bytes.empty());
  EXPECT_TRUE(run(table.rows, Array<std::int64_t, 2>({3, 0}), DType::bf16).bytes.empty());
}

TEST(LookupDeathTest, RowOutsideTheTableIsOurMistake) {
  const StoredRows table(RowFormat::bf16, 2, {1, 2});
  EXPECT_DEATH(run(table.rows, Array<std::int64_t, 2>({1, 1}, 1), DType::bf16), "exists");
  EXPECT_DEATH(run(table.rows, Array<std::int64_t, 2>({1, 1}, -1), DType::bf16), "exists");
}

}  // namespace
}  // namespace cachalot
