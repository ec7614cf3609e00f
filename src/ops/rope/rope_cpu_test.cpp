// SPDX-License-Identifier: Apache-2.0
#include "ops/rope/rope.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr std::int64_t at[] = {0, 1, 127, 65535, 1'048'575};

template <class Operator>
std::vector<float> turned(Operator op, Context& context, Tensor<3> x, std::int64_t rope_dim, bool inverse) {
  Array<std::int64_t, 1> position({x.shape[0]});
  for (std::size_t r = 0; r < position.at.size(); ++r) position.at[r] = at[r % 5] + static_cast<std::int64_t>(r) / 5;
  Array<float, 1> frequency({rope_dim / 2});
  frequency.at =
      rope_frequencies(rope_dim, {.base = 160000, .factor = 16, .original = 65536, .beta_fast = 32, .beta_slow = 1});
  op(context, {x, position, frequency, inverse});
  return floats(x);
}

TEST(RopeCpu, GivesTheReferencesBitsAtEveryShapeAndBothWays) {
  struct Shape {
    std::int64_t rows, heads, head_dim, rope_dim;
  };
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const Shape s :
         {Shape{0, 2, 64, 64}, Shape{1, 64, 512, 64}, Shape{10, 1, 512, 64}, Shape{7, 32, 128, 64}, Shape{5, 3, 7, 2},
          Shape{5, 2, 96, 62}, Shape{5, 2, 40, 34}, Shape{6, 1, 30, 30}, Shape{2, 2, 4, 0}}) {
      Tensor<3> x(type, {s.rows, s.heads, s.head_dim}, random, 4);
      for (const bool inverse : {false, true}) {
        agreement.add(rope_ref, rope_cpu,
                      [&](auto op, Context& context) { return turned(op, context, x, s.rope_dim, inverse); });
      }
    }
    EXPECT_EQ(agreement.unequal, 0) << agreement;
  }
}

TEST(RopeCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {9, 3, 96}, random);
    Array<std::int64_t, 1> position({9});
    for (std::int64_t& p : position.at) p = random.below(1'000'000);
    Array<float, 1> frequency({21}, 0.3f);
    EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      Tensor<3> y = x;
      rope_cpu(context, {y.values().part(first, n), position.view().part(first, n), frequency});
      const auto all = floats(y);
      return std::vector<float>(all.begin() + first * 288, all.begin() + (first + n) * 288);
    }));
  }
}

// bf16 pairs of an odd address, and a view with gaps: what lies between is not touched.
TEST(RopeCpu, TurnsOnlyTheLastPairsOfEachHead) {
  Random random(3);
  for (const DType type : {DType::bf16, DType::f32}) {
    const Tensor<3> x(type, {1, 2, 77}, random);
    Context context;
    const auto y = turned(rope_cpu, context, x, 20, false);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (i % 77 < 57) {
        EXPECT_EQ(y[static_cast<std::size_t>(i)], x.get(i)) << i;
      }
    }
  }
}

TEST(RopeCpu, NanStaysInItsPair) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {2, 2, 64}, random);  // row 1 is at position 1
    x.set(128 + 11, std::nan(""));
    Context context;
    const auto y = turned(rope_cpu, context, x, 64, false);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 2 == (128 + 11) / 2) << i;
  }
}

}  // namespace
}  // namespace cachalot
