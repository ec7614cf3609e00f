// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/compressor/compressor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

// Tokens stand anywhere: `first` says where each group's tokens begin. Those from the middle on are earlier ones.
struct Tokens {
  std::int64_t dim;
  std::vector<float> kv;
  std::vector<float> score;
};

Tensor<2> run(const Tokens& t, const std::vector<std::int64_t>& first, std::int64_t ratio, DType type = DType::f32) {
  const auto groups = static_cast<std::int64_t>(first.size());
  Array<std::int32_t, 2> token({groups, ratio});
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < ratio; ++i)
      token.view()[g][i] = static_cast<std::int32_t>(first[static_cast<std::size_t>(g)] + i);
  }
  const StoredInputs inputs(t.kv, t.score, t.dim);
  Context context;
  Tensor<2> out(type, {groups, t.dim});
  compressor_ref(context, {inputs.own(), inputs.kept(), token, out});
  return out;
}

// Two tokens of two channels: channel 0 weighs 3:1 (scores ln 3 and 0), channel 1 equally.
TEST(Compressor, PoolsEachChannelByTheSoftmaxOverItsTokens) {
  const Tokens t{2, {8, 10, 4, 20}, {std::log(3.0f), 5, 0, 5}};
  const Tensor<2> y = run(t, {0}, 2);
  EXPECT_NEAR(y.get(0), 7, 1e-6);
  EXPECT_NEAR(y.get(1), 15, 1e-6);
}

TEST(Compressor, MatchesTheFormulaAtEveryRatio) {
  Random random(1);
  for (const std::int64_t ratio : {1, 2, 3, 4, 128}) {
    const std::int64_t dim = 96;
    const Tokens t{dim, random_floats(2 * ratio * dim, random), random_floats(2 * ratio * dim, random, 6)};
    const Tensor<2> y = run(t, {0, ratio}, ratio);
    for (std::int64_t i = 0; i < 2 * dim; ++i) {
      long double weights = 0;
      long double sum = 0;
      for (std::int64_t token = 0; token < ratio; ++token) {
        const auto at = static_cast<std::size_t>((i / dim * ratio + token) * dim + i % dim);
        weights += std::exp(static_cast<long double>(t.score[at]));
        sum += std::exp(static_cast<long double>(t.score[at])) * t.kv[at];
      }
      ASSERT_NEAR(y.get(i), static_cast<double>(sum / weights), 5e-7) << ratio << " " << i;
    }
  }
}

TEST(Compressor, OneTokenIsItself) {
  Random random(2);
  const Tokens t{64, random_floats(64, random), random_floats(64, random, 50)};
  const Tensor<2> y = run(t, {0}, 1);
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(y.get(i), t.kv[static_cast<std::size_t>(i)]);
}

TEST(Compressor, LargeScoresDoNotOverflow) {
  const Tokens t{1, {2, 6}, {3e38f, 3e38f}};
  EXPECT_EQ(run(t, {0}, 2).get(0), 4);
  const Tokens one_sided{1, {2, 6}, {-std::numeric_limits<float>::infinity(), -1e30f}};
  EXPECT_EQ(run(one_sided, {0}, 2).get(0), 6);
}

TEST(Compressor, RoundsOnceAtTheStore) {
  Random random(3);
  const Tokens t{32, random_floats(64, random), random_floats(64, random)};
  const Tensor<2> wide = run(t, {0}, 2);
  const Tensor<2> narrow = run(t, {0}, 2, DType::bf16);
  for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ(narrow.get(i), round_bf16(wide.get(i))) << i;
}

TEST(Compressor, EveryGroupIsTheSameAloneAndAmongOthers) {
  Random random(4);
  const Tokens t{512, random_floats(8 * 512, random), random_floats(8 * 512, random)};
  const std::vector<std::int64_t> first = {4, 0, 6, 2};
  const Tensor<2> all = run(t, first, 2, DType::bf16);
  for (std::size_t g = 0; g < first.size(); ++g) {
    EXPECT_EQ(run(t, {first[g]}, 2, DType::bf16).bytes, all.row_bytes(static_cast<std::int64_t>(g)));
  }
  EXPECT_TRUE(run(t, {}, 2).bytes.empty());
}

}  // namespace
}  // namespace cachalot
