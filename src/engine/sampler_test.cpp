// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "engine/random.h"
#include "engine/test_sampling.h"

namespace cachalot::sampler_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double double_infinity = std::numeric_limits<double>::infinity();
constexpr double double_nan = std::numeric_limits<double>::quiet_NaN();

std::vector<TokenId> ids(std::initializer_list<std::int32_t> numbers) {
  std::vector<TokenId> all;
  for (const std::int32_t n : numbers) all.push_back(TokenId{n});
  return all;
}

TokenId draw(const Sampler& sampler, const std::vector<float>& logits, std::int64_t position = 0) {
  SamplerScratch scratch;
  const auto id = sampler.sample(logits, Position{position}, scratch);
  EXPECT_TRUE(id.has_value()) << id.error().message;
  return id ? *id : TokenId{-1};
}

std::int32_t greedy(const std::vector<float>& logits) { return raw(draw(Sampler({}), logits)); }

// A row in which token i has the i-th probability, at temperature 1.
std::vector<float> row_of(std::initializer_list<double> probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEST(Philox, GivesThePublishedNumbers) {
  // Known answers of the Random123 distribution for philox4x32 with 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

double noise(std::uint64_t seed, std::uint32_t choice, std::int64_t position, std::int32_t id) {
  return TokenNoise(seed, choice, position)(id);
}

TEST(TokenNoise, DependsOnSeedChoicePositionAndToken) {
  EXPECT_EQ(noise(1, 0, 5, 9), noise(1, 0, 5, 9));
  EXPECT_NE(noise(1, 0, 5, 9), noise(2, 0, 5, 9));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1, 1, 5, 9));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1, 0, 6, 9));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1, 0, 5, 8));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1, 0, 5, 10));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1 + (std::uint64_t{1} << 32), 0, 5, 9));
  EXPECT_NE(noise(1, 0, 5, 9), noise(1, 0, 5 + (std::int64_t{1} << 32), 9));
}

TEST(TokenNoise, OfATokenIsTheSameInAnyOrderAndStrictlyBetweenZeroAndOne) {
  TokenNoise up(7, 0, 3), down(7, 0, 3);
  std::vector<double> all;
  double sum = 0;
  for (std::int32_t id = 0; id < 10000; ++id) {
    all.push_back(up(id));
    ASSERT_GT(all.back(), 0);
    ASSERT_LT(all.back(), 1);
    sum += all.back();
  }
  for (std::int32_t id = 9999; id >= 0; id -= 3) ASSERT_EQ(down(id), all[static_cast<std::size_t>(id)]) << id;
  EXPECT_NEAR(sum / 10000, 0.5, 4 * std::sqrt(1.0 / 12 / 10000));
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(Sample, AtTemperatureZeroTheLowestOfTheLargestWins) {
  EXPECT_EQ(greedy({1}), 0);
  EXPECT_EQ(greedy({1, 3, 2}), 1);
  EXPECT_EQ(greedy({1, 3, 3}), 1);
  EXPECT_EQ(greedy({nan, -5, nan}), 1);
  EXPECT_EQ(greedy({-infinity, -infinity, 0}), 2);
  EXPECT_EQ(greedy({-infinity, infinity, 0}), 1);
}

TEST(Sample, AtTemperatureZeroBiasPenaltiesAndMasksStillCount) {
  const std::vector<float> logits = {1, 4, 3, 2};
  EXPECT_EQ(raw(draw(Sampler({.logit_bias = {{TokenId{0}, 3.5}}}), logits)), 0);
  EXPECT_EQ(raw(draw(Sampler({}, ids({1, 2})), logits)), 3);
  Sampler presence({.presence_penalty = 1.5});
  presence.push(TokenId{1});
  EXPECT_EQ(raw(draw(presence, logits)), 2);
  Sampler repetition({.repetition_penalty = 2});
  repetition.start(ids({1, 2}));
  EXPECT_EQ(raw(draw(repetition, logits)), 1) << "2, 1.5 and 2: the lower id";
}

TEST(Sample, AnInfiniteLogitWinsAlone) {
  EXPECT_EQ(shares(Sampler({.temperature = 1}), {0, infinity, infinity, 5}), "1:1");
  EXPECT_EQ(shares(Sampler({.temperature = 1}, ids({1})), {0, infinity, infinity, 5}), "2:1");
}

TEST(Sample, WhereNoTokenIsPossibleThereIsAnErrorAndNoToken) {
  SamplerScratch scratch;
  const auto message = [&](const Sampler& sampler, const std::vector<float>& logits) {
    const auto id = sampler.sample(logits, Position{0}, scratch);
    EXPECT_FALSE(id.has_value());
    EXPECT_FALSE(sampler.distribution(logits, scratch).has_value());
    return id ? std::string() : std::string(id.error().message);
  };
  for (const double temperature : {0.0, 1.0}) {
    const SamplingOptions options{.temperature = temperature};
    EXPECT_NE(message(Sampler(options), {-infinity, nan, -infinity}).find("no token is possible: each of the 3"),
              std::string::npos);
    EXPECT_NE(message(Sampler(options, ids({0})), {1}), "");
    EXPECT_NE(message(Sampler({.temperature = temperature, .min_tokens = 1}, {}, ids({0})), {1}), "");
    EXPECT_NE(message(Sampler({.temperature = temperature, .logit_bias = {{TokenId{0}, -100}}}), {1}), "");
  }
}

TEST(Sample, OneTokenIsDrawnWhateverTheOptions) {
  const SamplingOptions options{.temperature = 1.5,
                                .top_k = 1,
                                .top_p = 1e-300,
                                .min_p = 1,
                                .repetition_penalty = 2,
                                .presence_penalty = 2,
                                .frequency_penalty = 2,
                                .logit_bias = {{TokenId{0}, -99.9}}};
  Sampler sampler(options);
  sampler.start(ids({0}));
  sampler.push(TokenId{0});
  EXPECT_EQ(shares(sampler, {-3}), "0:1");
}

TEST(TopK, KeepsTheLargestAndOfEqualOnesTheLowerIds) {
  const std::vector<float> logits = row_of({0.125, 0.25, 0.25, 0.25, 0.125});
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = 1}), logits), "1:1");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = 2}), logits), "1:0.5 2:0.5");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = 4}), logits), "0:0.1429 1:0.2857 2:0.2857 3:0.2857");
  const std::string all = shares(Sampler({.temperature = 1}), logits);
  for (const std::int64_t off : {std::int64_t{0}, std::int64_t{5}, std::int64_t{6}, std::int64_t{1} << 40})
    EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = off}), logits), all) << off;
}

TEST(TopK, ImpossibleTokensDoNotFillThePlaces) {
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = 3}, ids({2})), {nan, 0, 9, -infinity, 0}), "1:0.5 4:0.5");
}

TEST(TopP, KeepsTheFewestThatReachTheShareAndOfEqualOnesTheLowerIds) {
  const std::vector<float> equal(4, -2.5f);
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.25}), equal), "0:1");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.250001}), equal), "0:0.5 1:0.5");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.75}), equal), "0:0.3333 1:0.3333 2:0.3333");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.999}), equal), "0:0.25 1:0.25 2:0.25 3:0.25");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 1e-300}), equal), "0:1") << "one always stays";
  const std::vector<float> logits = row_of({0.1, 0.2, 0.4, 0.3});
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.6}), logits), "2:0.5714 3:0.4286");
}

TEST(TopP, ManyEqualTokensAreCutAtTheRightId) {
  const std::vector<float> equal(1024, 1.0f);
  for (const std::int64_t n : {1, 63, 64, 65, 256, 257, 1023, 1024}) {
    SamplerScratch scratch;
    const auto all = *Sampler({.temperature = 1, .top_p = static_cast<double>(n) / 1024}).distribution(equal, scratch);
    ASSERT_EQ(static_cast<std::int64_t>(all.size()), n);
    EXPECT_EQ(raw(all.back().id), n - 1);
  }
}

TEST(TopP, SoNearToOneThatRoundingMattersItKeepsAll) {
  std::vector<float> logits(5000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 97) * 0.01f;
  SamplerScratch scratch;
  const double p = std::nextafter(1.0, 0.0);
  EXPECT_GE(Sampler({.temperature = 1, .top_p = p}).distribution(logits, scratch)->size(), 4999u);
}

TEST(MinP, KeepsWhatIsLikelyEnoughBesideTheMostLikely) {
  const std::vector<float> logits = {0, -0.5f, -0.5f, 0, -2};
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = 1}), logits), "0:0.5 3:0.5") << "the largest and its equals";
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = std::exp(-0.5)}), logits),
            "0:0.3112 1:0.1888 2:0.1888 3:0.3112");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = std::nextafter(std::exp(-0.5), 1)}), logits), "0:0.5 3:0.5");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = 0}), logits), shares(Sampler({.temperature = 1}), logits));
}

TEST(LogitBias, IsAddedAndAtMinusAHundredForbids) {
  const std::vector<float> logits = {0, 0, 0};
  const auto biased = [&](std::vector<TokenBias> bias) {
    return shares(Sampler({.temperature = 1, .logit_bias = std::move(bias)}), logits);
  };
  EXPECT_EQ(biased({{TokenId{1}, std::log(2.0)}}), "0:0.25 1:0.5 2:0.25");
  EXPECT_EQ(biased({{TokenId{1}, -100}}), "0:0.5 2:0.5");
  EXPECT_EQ(biased({{TokenId{1}, -1e30}}), "0:0.5 2:0.5");
  EXPECT_EQ(biased({{TokenId{1}, -100}, {TokenId{1}, 100}}), "0:0.5 2:0.5") << "once forbidden, it stays so";
  EXPECT_EQ(biased({{TokenId{0}, -100}, {TokenId{2}, -100}}), "1:1");
  EXPECT_EQ(biased({{TokenId{2}, 100}}), "0:3.72e-44 1:3.72e-44 2:1");
  EXPECT_EQ(biased({{TokenId{2}, 1e4}}), "2:1");
  EXPECT_EQ(biased({{TokenId{2}, 1}, {TokenId{2}, -1}}), "0:0.3333 1:0.3333 2:0.3333") << "two of one token add up";
}

TEST(Penalties, FollowTheirRules) {
  const std::vector<float> logits = {2, -2, 2, -2, 0};
  const auto with = [&](SamplingOptions options, std::vector<float> same_as) {
    options.temperature = 1;
    Sampler sampler(options);
    sampler.start(ids({0, 1, 4, 0}));
    for (const TokenId t : ids({2, 3, 2})) sampler.push(t);
    EXPECT_EQ(shares(sampler, logits), shares(Sampler({.temperature = 1}), same_as));
  };
  with({.repetition_penalty = 2}, {1, -4, 1, -4, 0});        // prompt and output; once however often
  with({.presence_penalty = 0.5}, {2, -2, 1.5f, -2.5f, 0});  // the output alone
  with({.frequency_penalty = 0.5}, {2, -2, 1, -2.5f, 0});    // the output alone, each time
  with({.frequency_penalty = -0.5}, {2, -2, 3, -1.5f, 0});
  with({.repetition_penalty = 0.5}, {4, -1, 4, -1, 0});
  with({.repetition_penalty = 2, .presence_penalty = 0.5, .frequency_penalty = 0.25}, {1, -4, 0, -4.75f, 0});
}

TEST(Penalties, NeutralOnesChangeNoBit) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> logits(300);
  for (float& l : logits) l = normal(random);
  const SamplingOptions plain{.temperature = 0.7, .seed = 9};
  SamplingOptions neutral = plain;
  neutral.top_k = 300;
  neutral.logit_bias = {{TokenId{7}, 0}};
  Sampler a(plain), b(neutral);
  b.start(ids({1, 2, 3}));
  SamplerScratch scratch;
  for (std::int32_t i = 0; i < 300; ++i) {
    b.push(TokenId{i});
    EXPECT_EQ(draw(a, logits, i), draw(b, logits, i));
  }
  const auto x = *a.distribution(logits, scratch), y = *b.distribution(logits, scratch);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].probability, y[i].probability);
}

TEST(MinTokens, ForbidStopTokensEvenWhereEveryLogitIsNegative) {
  const std::vector<float> logits = {-9, -1, -8, -7};  // were the stop token's logit set to 0, it would still win
  for (const std::int64_t least : {0, 1, 5, 20}) {
    for (const double temperature : {0.0, 0.5}) {
      Sampler sampler({.temperature = temperature, .min_tokens = least}, {}, ids({1, 3, 99}));
      for (std::int64_t made = 0; made < 25; ++made) {
        EXPECT_EQ(sampler.made(), made);
        const std::string text = shares(sampler, logits);
        const bool stops = text.find("1:") != std::string::npos;
        EXPECT_EQ(stops, made >= least) << least << " " << made << " " << text;
        sampler.push(TokenId{0});
      }
    }
  }
}

TEST(MinTokens, AreEachRequestsOwnInABatch) {
  const std::vector<float> logits = {-9, -1};
  std::vector<Sampler> batch;
  for (const std::int64_t least : {5, 20, 0})
    batch.emplace_back(SamplingOptions{.min_tokens = least}, ids({}), ids({1}));
  SamplerScratch scratch;
  for (std::int64_t made = 0; made < 25; ++made) {
    std::vector<std::int32_t> drawn;
    for (Sampler& s : batch) {
      drawn.push_back(raw(*s.sample(logits, Position{made}, scratch)));
      s.push(TokenId{0});
    }
    EXPECT_EQ(drawn, (std::vector<std::int32_t>{made >= 5, made >= 20, 1})) << made;
  }
}

TEST(ReservedIds, AreNeverDrawnWhateverTheirLogitBiasOrPenalty) {
  Sampler sampler({.temperature = 1, .presence_penalty = -2, .logit_bias = {{TokenId{1}, 100}}}, ids({1, 3, -1, 99}));
  sampler.push(TokenId{1});
  EXPECT_EQ(shares(sampler, {0, infinity, 0, 50}), "0:0.5 2:0.5") << "ids that the row does not have are passed over";
}

TEST(Sampler, TakingTokensBackIsCountingAnew) {
  std::mt19937 random(11);
  std::vector<float> logits(12);
  std::normal_distribution<float> normal(0, 2);
  for (float& l : logits) l = normal(random);
  const SamplingOptions options{
      .temperature = 1, .repetition_penalty = 1.3, .presence_penalty = 0.4, .frequency_penalty = 0.3, .min_tokens = 4};
  const auto prompt = ids({3, 3, 7});
  const auto stops = ids({5});
  for (int run = 0; run < 50; ++run) {
    Sampler sampler(options, {}, stops);
    sampler.start(prompt);
    std::vector<TokenId> output;
    for (int i = 0; i < 40; ++i) {
      if (!output.empty() && random() % 3 == 0) {
        output.pop_back();
        sampler.pop();
      } else {
        output.push_back(TokenId{static_cast<std::int32_t>(random() % 12)});
        sampler.push(output.back());
      }
      Sampler fresh(options, {}, stops);
      fresh.start(prompt);
      for (const TokenId t : output) fresh.push(t);
      ASSERT_EQ(shares(sampler, logits), shares(fresh, logits));
      ASSERT_EQ(sampler.made(), static_cast<std::int64_t>(output.size()));
    }
    sampler.start(prompt);
    Sampler fresh(options, {}, stops);
    fresh.start(prompt);
    EXPECT_EQ(shares(sampler, logits), shares(fresh, logits)) << "start() forgets the output";
  }
}

TEST(CheckSampling, NamesFieldValueAndWhatIsAllowed) {
  const auto error = [](const std::function<void(SamplingOptions&)>& change) {
    SamplingOptions options;
    change(options);
    const Status good = check_sampling(options, 10);
    EXPECT_FALSE(good.has_value());
    if (good) return std::string();
    EXPECT_EQ(good.error().code, Errc::usage);
    return std::string(good.error().message);
  };
  EXPECT_TRUE(check_sampling({}, 10).has_value());
  for (const double bad : {-0.5, double_nan, double_infinity, -double_infinity}) {
    EXPECT_EQ(error([&](auto& o) { o.temperature = bad; }),
              fmt::format("temperature {}: expected a number from 0 on", bad));
    EXPECT_EQ(error([&](auto& o) { o.top_p = bad; }),
              fmt::format("top_p {}: expected a number above 0, at most 1", bad));
    EXPECT_EQ(error([&](auto& o) { o.min_p = bad; }), fmt::format("min_p {}: expected a number from 0 to 1", bad));
    EXPECT_EQ(error([&](auto& o) { o.repetition_penalty = bad; }),
              fmt::format("repetition_penalty {}: expected a number above 0", bad));
  }
  for (const double bad : {double_nan, double_infinity, -double_infinity}) {
    EXPECT_NE(error([&](auto& o) { o.presence_penalty = bad; }).find("presence_penalty"), std::string::npos);
    EXPECT_NE(error([&](auto& o) { o.frequency_penalty = bad; }).find("frequency_penalty"), std::string::npos);
    EXPECT_EQ(error([&](auto& o) {
                o.logit_bias = {{TokenId{4}, bad}};
              }),
              fmt::format("logit_bias of token 4 is {}: expected a finite number", bad));
  }
  EXPECT_EQ(error([](auto& o) { o.top_p = 0; }), "top_p 0: expected a number above 0, at most 1");
  EXPECT_NE(error([](auto& o) { o.top_p = std::nextafter(1.0, 2.0); }), "");
  EXPECT_NE(error([](auto& o) { o.min_p = 1.5; }), "");
  EXPECT_NE(error([](auto& o) { o.repetition_penalty = 0; }), "");
  EXPECT_EQ(error([](auto& o) { o.top_k = -1; }), "top_k -1: expected a whole number from 0 (off) on");
  EXPECT_EQ(error([](auto& o) { o.min_tokens = -1; }), "min_tokens -1: expected a whole number from 0 on");
  for (const std::int32_t id : {-1, 10}) {
    EXPECT_EQ(error([&](auto& o) {
                o.logit_bias = {{TokenId{id}, 1}};
              }),
              fmt::format("logit_bias of token {}: the vocabulary has ids 0 to 9", id));
  }
}

}  // namespace
}  // namespace cachalot::sampler_test
