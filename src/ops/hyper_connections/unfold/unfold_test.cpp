// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"

#include <gtest/gtest.h>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

struct Case {
  DType type = DType::f32;
  std::int64_t copies = 2, dim = 1;
  std::vector<float> y, h, post, comb;
  bool in_place = false;
};

std::vector<float> unfold(const Case& c) {
  const std::int64_t rows = static_cast<std::int64_t>(c.post.size()) / c.copies;
  const TestTensor<2> y(c.type, {rows, c.dim}, c.y);
  TestTensor<3> h(c.type, {rows, c.copies, c.dim}, c.h), other(c.type, {rows, c.copies, c.dim});
  TestTensor<3>& out = c.in_place ? h : other;
  Context context;
  unfold_ref(context, {.y = y.view(),
                       .h = h.view(),
                       .post = {c.post.data(), {rows, c.copies}},
                       .comb = {c.comb.data(), {rows, c.copies, c.copies}},
                       .out = out.view()});
  return out.numbers();
}

Case noisy(DType type, std::int64_t rows, std::int64_t copies, std::int64_t dim) {
  return {type,
          copies,
          dim,
          noise(rows * dim, 1),
          noise(rows * copies * dim, 2),
          noise(rows * copies, 3, 2.0f),
          noise(rows * copies * copies, 4)};
}

TEST(Unfold, CombMovesTheCopyOfItsFirstAxisToTheCopyOfItsSecond) {
  // comb[0][1] = 1: copy 1 becomes what copy 0 was, and copy 0 becomes nothing.
  EXPECT_EQ(unfold({.y = {0}, .h = {7, 9}, .post = {0, 0}, .comb = {0, 1, 0, 0}}), (std::vector<float>{0, 7}));
}

TEST(Unfold, HandComputedCase) {
  // out[0] = 10·2 + 1·7 + 3·9, out[1] = 100·2 + 2·7 + 4·9.
  EXPECT_EQ(unfold({.y = {2}, .h = {7, 9}, .post = {10, 100}, .comb = {1, 2, 3, 4}}), (std::vector<float>{54, 250}));
}

TEST(Unfold, IdentityWithPostZeroKeepsEveryBit) {
  for (DType type : {DType::bf16, DType::f32}) {
    Case c = noisy(type, 1, 4, 13);
    c.post.assign(4, 0);
    c.comb.assign(16, 0);
    for (std::size_t k = 0; k < 4; ++k) c.comb[5 * k] = 1;
    EXPECT_EQ(unfold(c), TestTensor<3>(type, {1, 4, 13}, c.h).numbers());
  }
}

TEST(Unfold, SumsCopiesAscendingThenTheOutput) {
  const std::vector<float> ones(4, 1);
  // The copies cancel before y comes, and y does not cancel copy 0 before copy 1 comes.
  EXPECT_EQ(unfold({.y = {1}, .h = {1e30f, -1e30f}, .post = {1, 1}, .comb = ones}), (std::vector<float>{1, 1}));
  EXPECT_EQ(unfold({.y = {-1e30f}, .h = {1e30f, 1}, .post = {1, 1}, .comb = ones}), (std::vector<float>{0, 0}));
}

TEST(Unfold, RoundsOnceAtTheEnd) {
  EXPECT_EQ(unfold({.type = DType::bf16, .y = {1}, .h = {1, 1}, .post = {1, 1}, .comb = {0x1p-8f, 0, 0x1p-8f, 0}}),
            (std::vector<float>{1 + 0x1p-7f, 1}));
}

TEST(Unfold, OutMayBeTheStreamItself) {
  for (DType type : {DType::bf16, DType::f32}) {
    Case c = noisy(type, 3, 4, 10);
    const std::vector<float> apart = unfold(c);
    c.in_place = true;
    EXPECT_TRUE(same_bits(unfold(c), apart));
  }
}

TEST(Unfold, OneCopyAndNoRowsWork) {
  EXPECT_EQ(unfold({.copies = 1, .y = {5}, .h = {3}, .post = {2}, .comb = {10}}), (std::vector<float>{40}));
  EXPECT_TRUE(unfold({}).empty());
}

TEST(Unfold, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 4, copies = 4, dim = 7;
  const Case c = noisy(DType::bf16, rows, copies, dim);
  const auto cut = [](const std::vector<float>& v, std::int64_t first, std::int64_t n, std::int64_t width) {
    return std::vector(v.begin() + first * width, v.begin() + (first + n) * width);
  };
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    return unfold({c.type, copies, dim, cut(c.y, first, n, dim), cut(c.h, first, n, copies * dim),
                   cut(c.post, first, n, copies), cut(c.comb, first, n, copies * copies)});
  }));
}

}  // namespace
}  // namespace cachalot
