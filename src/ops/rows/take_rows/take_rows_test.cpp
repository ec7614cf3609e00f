// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/take_rows/take_rows.h"

#include "ops/test_agreement.h"

namespace cachalot {
namespace {

template <class Operator>
std::vector<float> taken(Operator op, Context& context, Tensor<2>& from, const std::vector<std::int32_t>& rows) {
  const auto count = std::ssize(rows);
  Tensor<2> out(from.type, {count, from.shape[1]});
  op(context, {bytes_of_rows(ConstValues<2>(from)), {rows.data(), {count}}, bytes_of_rows(out.values())});
  return floats(out);
}

TEST(TakeRows, RowsComeInTheOrderOfTheirNumbersAsOftenAsTheyAreNamed) {
  Context context;
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> from(type, {3, 2});
    for (std::int64_t i = 0; i < 6; ++i) from.set(i, static_cast<double>(i));
    EXPECT_EQ(taken(take_rows_ref, context, from, {2, 0, 2, 1}), (std::vector<float>{4, 5, 0, 1, 4, 5, 2, 3}));
    EXPECT_TRUE(taken(take_rows_ref, context, from, {}).empty());
  }
}

TEST(TakeRows, OfEverySizeAreTheReferences) {
  Random random(1);
  Agreement agreement;
  for (const std::int64_t width : {1, 3, 16, 77, 512}) {
    for (const std::int64_t count : {0, 1, 7, 8, 9, 50}) {
      Tensor<2> from(DType::bf16, {11, width}, random);
      std::vector<std::int32_t> rows;
      for (std::int64_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int32_t>(random.below(11)));
      agreement.add(take_rows_ref, take_rows_cpu,
                    [&](auto op, Context& context) { return taken(op, context, from, rows); });
    }
  }
  EXPECT_EQ(agreement.unequal, 0) << agreement;
}

TEST(TakeRowsDeathTest, ARowThatDoesNotExistIsRefused) {
  Context context;
  Tensor<2> from(DType::f32, {3, 2});
  for (const std::int32_t row : {-1, 3}) {
    EXPECT_DEATH(taken(take_rows_ref, context, from, {row}), "exists");
    EXPECT_DEATH(taken(take_rows_cpu, context, from, {row}), "exists");
  }
}

}  // namespace
}  // namespace cachalot
