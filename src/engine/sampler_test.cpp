// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/logprobs.h"
#include "engine/random.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TokenId sample(const std::vector<float>& logits, const SamplingOptions& options, Position position) {
  SamplerScratch scratch;
  return *Sampler(options).sample(logits, position, scratch);
}

std::int32_t greedy(const std::vector<float>& logits) { return raw(sample(logits, {}, Position{0})); }

TEST(Philox, GivesThePublishedNumbers) {
  // Known answers of the Random123 distribution for philox4x32 with 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, DependsOnSeedChoiceAndPosition) {
  EXPECT_EQ(uniform(1, 0, 5), uniform(1, 0, 5));
  EXPECT_NE(uniform(1, 0, 5), uniform(2, 0, 5));
  EXPECT_NE(uniform(1, 0, 5), uniform(1, 1, 5));
  EXPECT_NE(uniform(1, 0, 5), uniform(1, 0, 6));
  EXPECT_NE(uniform(1, 0, 5), uniform(1 + (std::uint64_t{1} << 32), 0, 5));
  for (std::int64_t p = 0; p < 10000; ++p) {
    const double u = uniform(7, 0, p);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
  }
}

TEST(Sample, AtTemperatureZeroTheLowestOfTheLargestWins) {
  EXPECT_EQ(greedy({1}), 0);
  EXPECT_EQ(greedy({1, 3, 2}), 1);
  EXPECT_EQ(greedy({1, 3, 3}), 1);
  EXPECT_EQ(greedy({nan, -5, nan}), 1);
  EXPECT_EQ(greedy({-infinity, -infinity, 0}), 2);
  EXPECT_EQ(greedy({-infinity, infinity, 0}), 1);
}

TEST(Sample, FollowsTheDistribution) {
  const std::vector<float> logits = {0.0f, 1.0f, -1.0f, 2.0f, nan, -infinity};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    std::vector<double> want;
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      want.push_back(std::exp(static_cast<double>(logits[static_cast<std::size_t>(i)]) / temperature));
      sum += want.back();
    }
    constexpr int draws = 20000;
    std::vector<int> seen(logits.size());
    for (int d = 0; d < draws; ++d) {
      ++seen[static_cast<std::size_t>(raw(sample(logits, {.temperature = temperature, .seed = 3}, Position{d})))];
    }
    EXPECT_EQ(seen[4] + seen[5], 0) << "impossible tokens";
    double chi_square = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double expected = draws * want[i] / sum;
      chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 16.27) << "three degrees of freedom, p = 0.001, at temperature " << temperature;
  }
}

TEST(Sample, IsAFunctionOfTheRowAndThePosition) {
  const std::vector<float> logits = {0.1f, 0.2f, 0.3f};
  const SamplingOptions options{.temperature = 1, .seed = 42};
  for (std::int64_t p = 0; p < 100; ++p) {
    EXPECT_EQ(sample(logits, options, Position{p}), sample(logits, options, Position{p}));
  }
}

TEST(Logprobs, AreThoseOfTheWholeRowBestFirst) {
  const std::vector<float> logits = {1.0f, 3.0f, 3.0f, -infinity, nan};
  const auto top = top_logprobs(logits, 4);
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(raw(top[0].id), 1);
  EXPECT_EQ(raw(top[1].id), 2);
  EXPECT_EQ(raw(top[2].id), 0);
  const double total = std::log(std::exp(1.0) + 2 * std::exp(3.0));
  EXPECT_NEAR(top[0].logprob, 3 - total, 1e-12);
  EXPECT_NEAR(logprob_of(logits, TokenId{0}), 1 - total, 1e-12);
  EXPECT_EQ(top[3].logprob, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(top_logprobs(logits, 0).empty());
  EXPECT_EQ(top_logprobs(logits, 99).size(), 5u);
}

}  // namespace
}  // namespace cachalot
