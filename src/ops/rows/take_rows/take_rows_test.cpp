// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/take_rows/take_rows.h"

#include "ops/test_backends.h"

namespace cachalot::take_rows_test {
namespace {

using TakeRows = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, TakeRows, each_backend(), place_name);

std::vector<float> taken(const On& on, Tensor<2>& from, const std::vector<std::int32_t>& rows) {
  const auto count = std::ssize(rows);
  Tensor<2> out(from.type, {count, from.shape[1]});
  on(&Backend::take_rows, {bytes_of_rows(ConstValues<2>(from)), {rows.data(), {count}}, bytes_of_rows(out.values())});
  return floats(out);
}

TEST_P(TakeRows, RowsComeInTheOrderOfTheirNumbersAsOftenAsTheyAreNamed) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<2> from(type, {3, 2}, {0, 1, 2, 3, 4, 5});
    EXPECT_EQ(taken(on, from, {2, 0, 2, 1}), (std::vector<float>{4, 5, 0, 1, 4, 5, 2, 3}));
    EXPECT_TRUE(taken(on, from, {}).empty());
  }
}

TEST_P(TakeRows, ARowThatDoesNotExistIsRefused) {
  Tensor<2> from(DType::f32, {3, 2});
  for (const std::int32_t row : {-1, 3}) EXPECT_DEATH(taken(on, from, {row}), "exists");
}

TEST(TakeRowsAgreement, AtEverySize) {
  Random random(1);
  Agreement agreement;
  for (const std::int64_t width : {1, 3, 16, 77, 512}) {
    for (const std::int64_t count : {0, 1, 7, 8, 9, 50}) {
      Tensor<2> from(DType::bf16, {11, width}, random);
      std::vector<std::int32_t> rows;
      for (std::int64_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int32_t>(random.below(11)));
      agreement.add([&](const On& on) { return taken(on, from, rows); });
    }
  }
  EXPECT_EQ(agreement.unequal, 0) << agreement;
}

}  // namespace
}  // namespace cachalot::take_rows_test
