// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/compressor/compressor.h"

#include <cmath>
#include <limits>

#include "ops/test_backends.h"

namespace cachalot::compressor_test {
namespace {

using Compressor = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Compressor, each_backend(), place_name);

// Tokens stand anywhere: `first` says where each group's tokens begin. Those from the middle on are earlier ones.
struct Tokens {
  std::int64_t dim;
  std::vector<float> kv;
  std::vector<float> score;
};

Tensor<2> run(const On& on, const Tokens& t, const std::vector<std::int64_t>& first, std::int64_t ratio,
              DType type = DType::f32) {
  const auto groups = static_cast<std::int64_t>(first.size());
  Array<std::int32_t, 2> token({groups, ratio});
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < ratio; ++i)
      token.view()[g][i] = static_cast<std::int32_t>(first[static_cast<std::size_t>(g)] + i);
  }
  const StoredInputs inputs(t.kv, t.score, t.dim);
  Tensor<2> out(type, {groups, t.dim});
  on(&Backend::compressor, {inputs.own(), inputs.kept(), token, out});
  return out;
}

// Two tokens of two channels: channel 0 weighs 3:1 (scores ln 3 and 0), channel 1 equally.
TEST_P(Compressor, PoolsEachChannelByTheSoftmaxOverItsTokens) {
  const Tokens t{2, {8, 10, 4, 20}, {std::log(3.0f), 5, 0, 5}};
  const Tensor<2> y = run(on, t, {0}, 2);
  EXPECT_NEAR(y.get(0), 7, 1e-6);
  EXPECT_NEAR(y.get(1), 15, 1e-6);
}

TEST_P(Compressor, MatchesTheFormulaAtEveryRatio) {
  Random random(1);
  for (const std::int64_t ratio : {1, 2, 3, 4, 128}) {
    const std::int64_t dim = 96;
    const Tokens t{dim, random_floats(2 * ratio * dim, random), random_floats(2 * ratio * dim, random, 6)};
    const Tensor<2> y = run(on, t, {0, ratio}, ratio);
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

TEST_P(Compressor, OneTokenIsItself) {
  Random random(2);
  for (const std::int64_t dim : {33, 64}) {
    const Tokens t{dim, random_floats(2 * dim, random), random_floats(2 * dim, random, 50)};
    EXPECT_EQ(floats(run(on, t, {0, 1}, 1)), t.kv);
  }
}

TEST_P(Compressor, LargeScoresDoNotOverflow) {
  const Tokens t{1, {2, 6}, {3e38f, 3e38f}};
  EXPECT_EQ(run(on, t, {0}, 2).get(0), 4);
  const Tokens one_sided{1, {2, 6}, {-std::numeric_limits<float>::infinity(), -1e30f}};
  EXPECT_EQ(run(on, one_sided, {0}, 2).get(0), 6);
}

TEST_P(Compressor, RoundsOnceAtTheStore) {
  Random random(3);
  const Tokens t{32, random_floats(64, random), random_floats(64, random)};
  const Tensor<2> wide = run(on, t, {0}, 2);
  const Tensor<2> narrow = run(on, t, {0}, 2, DType::bf16);
  for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ(narrow.get(i), round_bf16(wide.get(i))) << i;
}

// Of groups one after another.
std::vector<std::int64_t> begins(std::int64_t first, std::int64_t groups, std::int64_t ratio) {
  std::vector<std::int64_t> at;
  for (std::int64_t g = 0; g < groups; ++g) at.push_back((first + g) * ratio);
  return at;
}
Tokens random_tokens(std::int64_t tokens, std::int64_t dim, Random& random, float spread) {
  Tokens t{dim, random_floats(tokens * dim, random), {}};
  t.score = random_floats(tokens * dim, random, spread);
  return t;
}

TEST_P(Compressor, EveryGroupIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const std::int64_t dim : {77, 512}) {
    const Tokens t = random_tokens(18, dim, random, 3);
    for (const DType type : {DType::bf16, DType::f32}) {
      EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
        return floats(run(on.with_threads(2), t, begins(first, n, 2), 2, type));
      }));
    }
    const std::vector<std::int64_t> anywhere = {4, 0, 6, 2};
    const Tensor<2> all = run(on, t, anywhere, 2);
    for (std::size_t g = 0; g < anywhere.size(); ++g) {
      EXPECT_EQ(run(on, t, {anywhere[g]}, 2).bytes, all.row_bytes(static_cast<std::int64_t>(g)));
    }
    EXPECT_TRUE(run(on, t, {}, 2).bytes.empty());
  }
}

TEST_P(Compressor, NanStaysInItsChannelAmongLargeScores) {
  Random random(3);
  Tokens t = random_tokens(2, 40, random, 1);
  const auto set = [&](std::size_t channel, float first, float second) {
    t.score[channel] = first;
    t.score[40 + channel] = second;
  };
  set(0, 3e38f, 3e38f);
  set(1, -std::numeric_limits<float>::infinity(), -1e30f);
  set(2, -3e38f, 3e38f);
  set(3, std::nanf(""), 1);
  set(4, 1, std::nanf(""));
  const auto y = floats(run(on, t, {0}, 2));
  EXPECT_NEAR(y[0], (t.kv[0] + t.kv[40]) / 2, 1e-7);
  EXPECT_EQ(y[1], t.kv[41]);
  EXPECT_EQ(y[2], t.kv[42]);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(y[i]), i == 3 || i == 4) << i;
}

TEST(CompressorAgreement, AtEveryRatioAndWidth) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const std::int64_t ratio : {1, 2, 3, 4, 5, 128}) {
      for (const std::int64_t dim : {1, 3, 8, 15, 16, 17, 31, 96, 512}) {
        for (const float spread : {0.1f, 4.0f, 60.0f}) {
          const Tokens t = random_tokens(3 * ratio, dim, random, spread);
          agreement.add([&](const On& on) { return floats(run(on, t, begins(0, 3, ratio), ratio, type)); });
        }
      }
    }
    // 128 weights, each with the error of an f32 difference in its exponent.
    type == DType::bf16 ? expect_bf16_agrees(agreement) : expect_f32_agrees(agreement, 5e-6);
  }
}

}  // namespace
}  // namespace cachalot::compressor_test
