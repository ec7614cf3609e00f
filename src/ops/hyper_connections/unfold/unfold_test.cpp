// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"

#include "ops/test_backends.h"

namespace cachalot::unfold_test {
namespace {

using Unfold = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Unfold, each_backend(), place_name);

struct Case {
  Tensor<2> y;
  Tensor<3> h;
  Array<float, 2> post;
  Array<float, 3> comb;

  Case(DType type, std::int64_t rows, std::int64_t copies, std::int64_t dim, Random& random)
      : y(type, {rows, dim}, random),
        h(type, {rows, copies, dim}, random),
        post({rows, copies}, random_floats(rows * copies, random, 2)),
        comb({rows, copies, copies}, random_floats(rows * copies * copies, random)) {}
  // One row of width 1.
  Case(float y_of, const std::vector<float>& h_of, const std::vector<float>& post_of, const std::vector<float>& comb_of,
       DType type = DType::f32)
      : y(type, {1, 1}, {y_of}),
        h(type, {1, std::ssize(h_of), 1}, h_of),
        post({1, std::ssize(h_of)}, post_of),
        comb({1, std::ssize(h_of), std::ssize(h_of)}, comb_of) {}

  std::vector<float> run(const On& on, DType out_type, std::int64_t first, std::int64_t n) {
    Tensor<3> out(out_type, {n, h.shape[1], h.shape[2]});
    on(&Backend::unfold, {y.values().part(first, n), h.values().part(first, n), post.view().part(first, n),
                          comb.view().part(first, n), out});
    return floats(out);
  }
  std::vector<float> run(const On& on) { return run(on, h.type, 0, h.shape[0]); }
};

TEST_P(Unfold, CombMovesTheCopyOfItsFirstAxisToTheCopyOfItsSecond) {
  // comb[0][1] = 1: copy 1 becomes what copy 0 was, and copy 0 becomes nothing.
  EXPECT_EQ(Case(0, {7, 9}, {0, 0}, {0, 1, 0, 0}).run(on), (std::vector<float>{0, 7}));
}

TEST_P(Unfold, HandComputedCase) {
  // out[0] = 10·2 + 1·7 + 3·9, out[1] = 100·2 + 2·7 + 4·9.
  EXPECT_EQ(Case(2, {7, 9}, {10, 100}, {1, 2, 3, 4}).run(on), (std::vector<float>{54, 250}));
}

TEST_P(Unfold, IdentityWithPostZeroKeepsEveryBit) {
  Random random(1);
  for (const DType type : {DType::bf16, DType::f32}) {
    Case c(type, 1, 4, 13, random);
    c.post.at.assign(4, 0);
    c.comb.at.assign(16, 0);
    for (std::size_t k = 0; k < 4; ++k) c.comb.at[5 * k] = 1;
    EXPECT_EQ(c.run(on), floats(c.h));
  }
}

TEST_P(Unfold, SumsCopiesAscendingThenTheOutput) {
  const std::vector<float> ones(4, 1);
  // The copies cancel before y comes, and y does not cancel copy 0 before copy 1 comes.
  EXPECT_EQ(Case(1, {1e30f, -1e30f}, {1, 1}, ones).run(on), (std::vector<float>{1, 1}));
  EXPECT_EQ(Case(-1e30f, {1e30f, 1}, {1, 1}, ones).run(on), (std::vector<float>{0, 0}));
}

TEST_P(Unfold, RoundsOnceAtTheEnd) {
  EXPECT_EQ(Case(1, {1, 1}, {1, 1}, {0x1p-8f, 0, 0x1p-8f, 0}, DType::bf16).run(on),
            (std::vector<float>{1 + 0x1p-7f, 1}));
}

TEST_P(Unfold, OutMayBeTheStreamItself) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::int64_t dim : {10, 45}) {
      Case c(type, 5, 4, dim, random);
      const std::vector<float> apart = c.run(on.with_threads(2));
      on.with_threads(2)(&Backend::unfold, {c.y, c.h, c.post, c.comb, c.h});
      EXPECT_TRUE(same_bits(floats(c.h), apart));
    }
  }
}

TEST_P(Unfold, OneCopyAndNoRowsWork) {
  EXPECT_EQ(Case(5, {3}, {2}, {10}).run(on), (std::vector<float>{40}));
  Random random(3);
  EXPECT_TRUE(Case(DType::f32, 0, 2, 1, random).run(on).empty());
}

TEST_P(Unfold, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(5);
  for (const std::int64_t dim : {7, 29}) {
    Case c(DType::bf16, 7, 4, dim, random);
    EXPECT_TRUE(rows_stand_alone(
        7, [&](std::int64_t first, std::int64_t n) { return c.run(on.with_threads(2), DType::bf16, first, n); }));
  }
}

TEST(UnfoldAgreement, AtEverySizeAndType) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            Case c(type, rows, copies, dim, random);
            agreement.add([&](const On& on) { return c.run(on, out_type, 0, rows); });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

}  // namespace
}  // namespace cachalot::unfold_test
