// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"

#include <gtest/gtest.h>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

std::vector<float> fold(DType type, std::int64_t copies, std::int64_t dim, const std::vector<float>& h,
                        const std::vector<float>& mix) {
  const std::int64_t rows = static_cast<std::int64_t>(mix.size()) / copies;
  const TestTensor<3> stream(type, {rows, copies, dim}, h);
  TestTensor<2> out(type, {rows, dim});
  Context context;
  fold_ref(context, {.h = stream.view(), .mix = {mix.data(), {rows, copies}}, .out = out.view()});
  return out.numbers();
}

TEST(Fold, WeighsEachCopyByItsOwnMix) {
  EXPECT_EQ(fold(DType::f32, 2, 3, {1, 2, 3, 10, 20, 30}, {2, 0.5f}), (std::vector<float>{7, 14, 21}));
}

TEST(Fold, OneHotMixReturnsThatCopyExactly) {
  for (DType type : {DType::bf16, DType::f32}) {
    TestTensor<3> h(type, {1, 4, 17}, noise(4 * 17, 3));
    const std::vector<float> all = h.numbers();
    EXPECT_EQ(fold(type, 4, 17, all, {1, 0, 0, 0}), std::vector<float>(all.begin(), all.begin() + 17));
    EXPECT_EQ(fold(type, 4, 17, all, {0, 0, 1, 0}), std::vector<float>(all.begin() + 34, all.begin() + 51));
  }
}

TEST(Fold, SumsCopiesAscending) {
  EXPECT_EQ(fold(DType::f32, 3, 1, {1e30f, -1e30f, 1}, {1, 1, 1}), (std::vector<float>{1}));
  EXPECT_EQ(fold(DType::f32, 3, 1, {1, 1e30f, -1e30f}, {1, 1, 1}), (std::vector<float>{0}));
}

TEST(Fold, RoundsOnceAtTheEnd) {
  EXPECT_EQ(fold(DType::bf16, 3, 1, {1, 1, 1}, {1, 0x1p-8f, 0x1p-8f}), (std::vector<float>{1 + 0x1p-7f}));
}

TEST(Fold, NoRowsAndOneCopyWork) {
  EXPECT_TRUE(fold(DType::f32, 4, 2, {}, {}).empty());
  EXPECT_EQ(fold(DType::f32, 1, 2, {3, 5}, {2}), (std::vector<float>{6, 10}));
}

TEST(Fold, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 5, copies = 4, dim = 11;
  const std::vector<float> h = noise(rows * copies * dim, 7), mix = noise(rows * copies, 8);
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    return fold(DType::bf16, copies, dim,
                std::vector(h.begin() + first * copies * dim, h.begin() + (first + n) * copies * dim),
                std::vector(mix.begin() + first * copies, mix.begin() + (first + n) * copies));
  }));
}

}  // namespace
}  // namespace cachalot
