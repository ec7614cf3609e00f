// SPDX-License-Identifier: Apache-2.0
// Is the distribution exactly the documented one, and does the draw follow it? Against a program of its own that sorts
// everything and divides in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "engine/random.h"
#include "engine/sampler.h"
#include "engine/test_sampling.h"

namespace cachalot::sampler_distribution_test {
namespace {

using Shares = std::map<std::int32_t, long double>;  // by id; what is not there is impossible

struct Case {
  Case() = default;
  Case(std::vector<float> row, SamplingOptions o) : logits(std::move(row)), options(std::move(o)) {}

  std::vector<float> logits;
  SamplingOptions options;
  std::vector<TokenId> never, stops, prompt, output;

  Sampler sampler() const {
    Sampler s(options, never, stops);
    s.start(prompt);
    for (const TokenId t : output) s.push(t);
    return s;
  }
};

Shares normalized(Shares shares) {
  long double sum = 0;
  for (const auto& [id, p] : shares) sum += p;
  for (auto& [id, p] : shares) p /= sum;
  return shares;
}

std::vector<std::pair<std::int32_t, long double>> most_probable_first(const Shares& shares) {
  std::vector<std::pair<std::int32_t, long double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });  // lower id first
  return sorted;
}

Shares brute_force(const Case& c) {
  const SamplingOptions& o = c.options;
  std::map<std::int32_t, float> logit;
  for (std::size_t i = 0; i < c.logits.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    float l = c.logits[i];
    bool banned = std::isnan(l) || std::isinf(l);
    for (const TokenBias& b : o.logit_bias) {
      if (raw(b.id) != id) continue;
      banned |= b.bias <= -100;
      l = static_cast<float>(l + b.bias);
    }
    const bool in_prompt = std::ranges::count(c.prompt, TokenId{id}) > 0;
    const auto made = std::ranges::count(c.output, TokenId{id});
    double d = l;
    if (in_prompt || made > 0) d = d > 0 ? d / o.repetition_penalty : d * o.repetition_penalty;
    if (made > 0) d -= o.frequency_penalty * static_cast<double>(made) + o.presence_penalty;
    l = static_cast<float>(d);
    banned |= std::ranges::count(c.never, TokenId{id}) > 0;
    banned |= static_cast<std::int64_t>(c.output.size()) < o.min_tokens && std::ranges::count(c.stops, TokenId{id}) > 0;
    if (!banned) logit[id] = l;
  }
  Shares shares;
  if (logit.empty()) return shares;
  const auto best = *std::ranges::max_element(logit, {}, [](const auto& x) { return x.second; });
  if (o.temperature == 0) return {{best.first, 1.0L}};
  for (const auto& [id, l] : logit)
    shares[id] = std::exp((static_cast<long double>(l) - best.second) / static_cast<long double>(o.temperature));
  shares = normalized(shares);
  if (o.top_k > 0) {
    auto sorted = most_probable_first(shares);
    sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(o.top_k)));
    shares = normalized(Shares(sorted.begin(), sorted.end()));
  }
  if (o.top_p < 1) {
    const auto sorted = most_probable_first(shares);
    Shares kept;
    long double mass = 0;
    for (const auto& [id, p] : sorted) {
      if (mass >= static_cast<long double>(o.top_p)) break;
      kept[id] = p;
      mass += p;
    }
    shares = normalized(kept);
  }
  const long double most = most_probable_first(shares)[0].second;
  std::erase_if(shares, [&](const auto& s) { return s.second < static_cast<long double>(o.min_p) * most; });
  return normalized(shares);
}

void expect_same(const Case& c, const std::string& what) {
  const Shares want = brute_force(c);
  SamplerScratch scratch;
  const auto got = c.sampler().distribution(c.logits, scratch);
  if (want.empty()) {
    EXPECT_FALSE(got.has_value()) << what;
    return;
  }
  ASSERT_TRUE(got.has_value()) << what << got.error().message;
  ASSERT_EQ(got->size(), want.size()) << what;
  auto expected = want.begin();
  for (const TokenProbability& t : *got) {
    ASSERT_EQ(raw(t.id), expected->first) << what;
    ASSERT_NEAR(t.probability, static_cast<double>(expected->second), 1e-12) << what << " id " << raw(t.id);
    ++expected;
  }
}

// Rows with ties (every second one is on a coarse grid), impossible tokens and every mixture of options.
Case random_case(std::mt19937& random) {
  const auto chance = [&](unsigned one_in) { return random() % one_in == 0; };
  const auto real = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  constexpr std::array sizes = {1, 2, 3, 7, 64, 65, 300, 1000};
  Case c;
  const auto vocab = static_cast<std::uint32_t>(sizes[random() % sizes.size()]);
  std::normal_distribution<float> normal(-1, 3);
  const bool coarse = chance(2);
  for (std::uint32_t i = 0; i < vocab; ++i) {
    const float l = normal(random);
    c.logits.push_back(coarse ? std::round(2 * l) / 2 : l);
    if (chance(40)) c.logits.back() = -std::numeric_limits<float>::infinity();
    if (chance(80)) c.logits.back() = std::numeric_limits<float>::quiet_NaN();
  }
  const auto some = [&](std::uint32_t most) {
    std::vector<TokenId> ids;
    for (auto n = random() % (most + 1); n > 0; --n)
      ids.push_back(TokenId{static_cast<std::int32_t>(random() % vocab)});
    return ids;
  };
  SamplingOptions& o = c.options;
  o.temperature = chance(10) ? 0 : real(0.2, 3);
  o.seed = random();
  if (chance(2)) o.top_k = 1 + static_cast<std::int64_t>(random() % (vocab + 2));
  if (chance(2)) o.top_p = real(0.01, 1);
  if (chance(2)) o.min_p = real(0, 1) * real(0, 1);
  if (chance(2)) o.repetition_penalty = real(0.5, 2);
  if (chance(2)) o.presence_penalty = real(-2, 2);
  if (chance(2)) o.frequency_penalty = real(-2, 2);
  if (chance(2)) o.min_tokens = static_cast<std::int64_t>(random() % 8);
  for (const TokenId id : some(4)) o.logit_bias.push_back({id, chance(3) ? -100 : real(-5, 5)});
  c.never = some(4);
  c.stops = some(2);
  c.prompt = some(10);
  c.output = some(10);
  return c;
}

TEST(Distribution, IsTheDocumentedOneForEveryMixtureOfOptions) {
  std::mt19937 random(2024);
  for (int i = 0; i < 1000; ++i) expect_same(random_case(random), fmt::format("case {}", i));
}

TEST(Distribution, OfEachFilterAloneIsTheDocumentedOne) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(2000);
  for (float& l : logits) l = normal(random);
  for (const double temperature : {0.1, 0.7, 1.0, 2.0, 50.0}) {
    for (const std::int64_t k : {1, 2, 40, 1999, 2000})
      expect_same(Case(logits, {.temperature = temperature, .top_k = k}), fmt::format("top_k {}", k));
    for (const double p : {1e-9, 0.1, 0.5, 0.9, 0.99, 0.9999})
      expect_same(Case(logits, {.temperature = temperature, .top_p = p}), fmt::format("top_p {}", p));
    for (const double p : {1e-9, 0.01, 0.5, 0.99, 1.0})
      expect_same(Case(logits, {.temperature = temperature, .min_p = p}), fmt::format("min_p {}", p));
  }
}

// A draw is the token whose exponential waiting time, from its own noise, is the shortest.
void expect_draws_follow(const Case& c, int draws) {
  const Shares want = brute_force(c);
  const Sampler sampler = c.sampler();
  SamplerScratch scratch;
  std::map<std::int32_t, int> seen;
  for (int d = 0; d < draws; ++d) {
    const std::int32_t id = raw(*sampler.sample(c.logits, Position{d}, scratch));
    ++seen[id];
    ASSERT_TRUE(want.contains(id)) << "an impossible token: " << id;
    if (d >= 200) continue;  // enough for this; the frequencies need more
    TokenNoise noise(c.options.seed, c.options.choice, d);
    std::map<long double, std::int32_t> arrivals;
    for (const auto& [other, p] : want) arrivals[-std::log(static_cast<long double>(noise(other))) / p] = other;
    ASSERT_EQ(id, arrivals.begin()->second) << "draw " << d;
  }
  // Tokens that are expected less than 8 times are one class.
  double chi_square = 0, rare_expected = 0, rare_seen = 0;
  int classes = 0;
  const auto count = [&](double expected, double found) {
    chi_square += (found - expected) * (found - expected) / expected;
    ++classes;
  };
  for (const auto& [id, p] : want) {
    const double expected = draws * static_cast<double>(p);
    if (expected >= 8) {
      count(expected, seen[id]);
    } else {
      rare_expected += expected;
      rare_seen += seen[id];
    }
  }
  if (rare_expected >= 8) count(rare_expected, rare_seen);
  const double freedom = classes - 1;
  // Four standard deviations above the mean.
  EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom) + 1e-9) << classes << " classes";
}

TEST(Draw, FollowsTheDistributionOfEachFilter) {
  const std::vector<float> logits = {0.0f,  1.0f,  -1.0f, 2.0f,  std::numeric_limits<float>::quiet_NaN(), 1.0f,
                                     -3.0f, -0.5f, 1.5f,  0.25f, -std::numeric_limits<float>::infinity()};
  const std::vector<SamplingOptions> all = {
      {.temperature = 0.5, .seed = 3},
      {.temperature = 1, .seed = 3},
      {.temperature = 2, .seed = 3},
      {.temperature = 1, .seed = 4, .top_k = 3},
      {.temperature = 1, .seed = 5, .top_p = 0.8},
      {.temperature = 1, .seed = 6, .min_p = 0.2},
      {.temperature = 1, .seed = 7, .choice = 3, .repetition_penalty = 1.8},
      {.temperature = 1, .seed = 8, .presence_penalty = 1, .frequency_penalty = -0.5},
      {.temperature = 1.3, .seed = 9, .top_k = 7, .top_p = 0.95, .min_p = 0.05, .repetition_penalty = 1.2}};
  for (const SamplingOptions& options : all) {
    SCOPED_TRACE(options.seed);
    Case c(logits, options);
    c.prompt = {TokenId{3}, TokenId{0}};
    c.output = {TokenId{1}, TokenId{1}, TokenId{8}};
    expect_draws_follow(c, 20000);
  }
}

TEST(Draw, FollowsTheDistributionOfManyTokens) {
  std::mt19937 random(99);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> logits(200);
  for (float& l : logits) l = normal(random);
  expect_draws_follow(Case(logits, {.temperature = 1, .seed = 12}), 20000);
  expect_draws_follow(Case(logits, {.temperature = 1, .seed = 13, .top_p = 0.9}), 20000);
}

// Each pair of neighbours in the documented order, on a row where the other order gives something else.
const std::vector<TokenId> zero = {TokenId{0}};
std::string plain(const std::vector<float>& row) { return shares(Sampler({.temperature = 1}), row); }
std::string after(const SamplingOptions& options, const std::vector<TokenId>& output, const std::vector<float>& row) {
  Sampler sampler(options);
  for (const TokenId t : output) sampler.push(t);
  return shares(sampler, row);
}
std::vector<float> tenths() { return {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)}; }

TEST(Order, BiasComesBeforeTheRepetitionPenalty) {
  const SamplingOptions o{.temperature = 1, .repetition_penalty = 2, .logit_bias = {{TokenId{0}, 1}}};
  EXPECT_EQ(after(o, zero, {1, 0}), plain({1, 0}));  // (1 + 1) / 2, not 1 / 2 + 1
}

TEST(Order, TheRepetitionPenaltyComesBeforePresenceAndFrequency) {
  // 4 / 2 - 1, not (4 - 1) / 2
  const SamplingOptions presence{.temperature = 1, .repetition_penalty = 2, .presence_penalty = 1};
  EXPECT_EQ(after(presence, zero, {4, 0}), plain({1, 0}));
  const SamplingOptions frequency{.temperature = 1, .repetition_penalty = 2, .frequency_penalty = 1};
  EXPECT_EQ(after(frequency, zero, {4, 0}), plain({1, 0}));
}

TEST(Order, BiasAndPenaltiesComeBeforeTheTemperature) {
  const SamplingOptions bias{.temperature = 2, .logit_bias = {{TokenId{0}, 1}}};
  EXPECT_EQ(after(bias, {}, {0, 0}), plain({0.5f, 0}));
  const SamplingOptions presence{.temperature = 2, .presence_penalty = 1};
  EXPECT_EQ(after(presence, zero, {0, 0}), plain({-0.5f, 0}));
}

TEST(Order, MasksComeBeforeTheFilters) {
  // Were the forbidden token still there, it would be top_k's only one, top_p's whole mass and min_p's measure.
  const std::vector<float> row = {9, 0, 0, -0.5f};
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_k = 1}, zero), row), "1:1");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .top_p = 0.5}, zero), row), "1:0.5 2:0.5");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = 0.9}, zero), row), "1:0.5 2:0.5");
  EXPECT_EQ(shares(Sampler({.temperature = 1, .min_p = 0.9, .min_tokens = 1}, {}, zero), row), "1:0.5 2:0.5");
}

TEST(Order, TheTemperatureComesBeforeTopPAndMinP) {
  // Squared, the shares are 16 : 9 : 4 : 1 thirtieths.
  EXPECT_EQ(after({.temperature = 0.5, .top_p = 0.5}, {}, tenths()), "0:1");
  EXPECT_EQ(after({.temperature = 0.5, .min_p = 0.3}, {}, tenths()), "0:0.64 1:0.36");
}

TEST(Order, TopKComesBeforeTopP) {
  // 0.4 of 0.7 is more than a half; 0.4 of 1 is not.
  EXPECT_EQ(after({.temperature = 1, .top_k = 2, .top_p = 0.5}, {}, tenths()), "0:1");
}

TEST(Order, TopPComesBeforeMinP) {
  // After min_p, 0.4 of 0.7 would be enough.
  EXPECT_EQ(after({.temperature = 1, .top_p = 0.55, .min_p = 0.6}, {}, tenths()), "0:0.5714 1:0.4286");
}

}  // namespace
}  // namespace cachalot::sampler_distribution_test
