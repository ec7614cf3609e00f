// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router/router.h"

#include <cmath>
#include <limits>

#include "ops/test_backends.h"

namespace cachalot::router_test {
namespace {

using Router = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Router, each_backend(), place_name);

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Routes {
  std::vector<std::int32_t> expert;
  std::vector<float> weight;
};

struct Case {
  ScoringFunc scoring = ScoringFunc::sigmoid;
  std::vector<float> logits;  // [rows, experts]
  std::vector<float> bias;    // [experts]
  std::vector<float> bias_vl = {};
  std::vector<std::uint8_t> image = {};  // none: all rows are text
  std::int64_t top_k = 1;
  float route_scale = 1.0f;
};

// The gate is the identity, so that a row of x is its logits.
Routes route(const On& on, const Case& c) {
  const auto experts = static_cast<std::int64_t>(c.bias.size());
  const std::int64_t rows = static_cast<std::int64_t>(c.logits.size()) / experts;
  std::vector<float> identity(c.bias.size() * c.bias.size());
  for (std::size_t e = 0; e < c.bias.size(); ++e) identity[e * (c.bias.size() + 1)] = 1;
  const Tensor<2> gate(DType::f32, {experts, experts}, identity), x(DType::f32, {rows, experts}, c.logits);
  const std::vector<std::uint8_t> image = c.image.empty() ? std::vector<std::uint8_t>(c.logits.size()) : c.image;
  const auto chosen = static_cast<std::size_t>(rows * c.top_k);
  Routes out{std::vector<std::int32_t>(chosen, -1), std::vector<float>(chosen, -1)};
  on(&Backend::router, {.x = x.values(),
                        .gate = gate.weight(),
                        .bias = {c.bias.data(), {experts}},
                        .bias_vl = {c.bias_vl.data(), {static_cast<std::int64_t>(c.bias_vl.size())}},
                        .image = {image.data(), {rows}},
                        .scoring = c.scoring,
                        .route_scale = c.route_scale,
                        .expert = {out.expert.data(), {rows, c.top_k}},
                        .weight = {out.weight.data(), {rows, c.top_k}}});
  return out;
}

using Experts = std::vector<std::int32_t>;

void expect_near(const std::vector<float>& got, const std::vector<double>& want, double tolerance = 1e-7) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "at " << i;
}

TEST_P(Router, EachScoringFunctionGivesItsHandComputedWeights) {
  // Logits 0, ln 3, -ln 3; top 2 of 3, scaled by 1.5.
  const float ln3 = std::log(3.0f);
  Case c{.logits = {0, ln3, -ln3}, .bias = {0, 0, 0}, .top_k = 2, .route_scale = 1.5f};
  Routes r = route(on, c);  // sigmoid: 1/2, 3/4, 1/4
  EXPECT_EQ(r.expert, (Experts{1, 0}));
  expect_near(r.weight, {0.9, 0.6});
  c.scoring = ScoringFunc::softmax;  // 3/13, 9/13, 1/13
  r = route(on, c);
  EXPECT_EQ(r.expert, (Experts{1, 0}));
  expect_near(r.weight, {1.125, 0.375});
  c.scoring = ScoringFunc::sqrtsoftplus;  // √ln 2, √ln 4, √ln 4/3
  r = route(on, c);
  EXPECT_EQ(r.expert, (Experts{1, 0}));
  expect_near(r.weight, {1.5 * std::sqrt(2) / (1 + std::sqrt(2)), 1.5 / (1 + std::sqrt(2))});
}

TEST_P(Router, SoftmaxRunsOverAllExpertsNotOverTheChosen) {
  // Top 1 is not normed: the weight is the score itself, 3/4 and not 1.
  const Routes r = route(on, {.scoring = ScoringFunc::softmax, .logits = {0, std::log(3.0f)}, .bias = {0, 0}});
  expect_near(r.weight, {0.75});
}

TEST_P(Router, OneExpertGetsItsScoreTimesTheScale) {
  const Routes r = route(on, {.logits = {0}, .bias = {7}, .top_k = 1, .route_scale = 1.5f});
  EXPECT_EQ(r.expert, (Experts{0}));
  expect_near(r.weight, {0.75});
}

TEST_P(Router, TopKEqualToExpertsRanksThemAll) {
  const Routes r = route(on, {.logits = {-1, 2, 0, 1}, .bias = {0, 0, 0, 0}, .top_k = 4, .route_scale = 1.5f});
  EXPECT_EQ(r.expert, (Experts{1, 3, 2, 0}));
  EXPECT_NEAR(r.weight[0] + r.weight[1] + r.weight[2] + r.weight[3], 1.5f, 1e-6);
}

TEST_P(Router, EqualScoresGoToTheLowerExpert) {
  EXPECT_EQ(route(on, {.logits = {1, 3, 3, 2, 3}, .bias = {0, 0, 0, 0, 0}, .top_k = 2}).expert, (Experts{1, 2}));
  EXPECT_EQ(route(on, {.logits = {1, 3, 3, 2, 3}, .bias = {0, 0, 0, 0, 0}, .top_k = 5}).expert,
            (Experts{1, 2, 4, 3, 0}));
  for (std::int64_t k : {1, 2, 63, 64}) {
    Experts want(static_cast<std::size_t>(k));
    for (std::size_t e = 0; e < want.size(); ++e) want[e] = static_cast<std::int32_t>(e);
    const std::vector<float> zeros(64);
    EXPECT_EQ(route(on, {.scoring = ScoringFunc::sqrtsoftplus, .logits = zeros, .bias = zeros, .top_k = k}).expert,
              want);
  }
}

TEST_P(Router, ScoresThatDifferButSumToTheSameF32AreATie) {
  // Expert 1 scores 2^-16 more; next to a bias of 1024 f32 can't see it.
  const float more = std::log((0.5f + 0x1p-16f) / (0.5f - 0x1p-16f));
  EXPECT_EQ(route(on, {.logits = {0, more}, .bias = {1024, 1024}}).expert, (Experts{0}));
  EXPECT_EQ(route(on, {.logits = {0, more}, .bias = {0, 0}}).expert, (Experts{1}));
}

TEST_P(Router, BiasDecidesWhoIsChosenAndNothingElse) {
  const float ln3 = std::log(3.0f);
  const Case c{.logits = {0, ln3, -ln3}, .bias = {0, -9, 9}, .top_k = 2};
  const Routes r = route(on, c);
  EXPECT_EQ(r.expert, (Experts{2, 0}));       // 9.25, 0.5, -8.25
  expect_near(r.weight, {1.0 / 3, 2.0 / 3});  // of 1/4 and 1/2: as though there were no bias
}

TEST_P(Router, ImageRowsUseTheirOwnBiasInAMixedBatch) {
  const Case c{
      .logits = {0, 0, 0, 0, 0, 0, 0, 0, 0}, .bias = {0, 1, 0}, .bias_vl = {0, 0, 1}, .image = {0, 1, 0}, .top_k = 1};
  EXPECT_EQ(route(on, c).expert, (Experts{1, 2, 1}));
}

TEST_P(Router, ImageRowWithoutAnImageBiasStops) {
  EXPECT_DEATH(route(on, {.logits = {0, 0}, .bias = {0, 0}, .image = {1}}), "bias_vl");
}

TEST_P(Router, LogitsOfAnySizeGiveFiniteScores) {
  const std::vector<float> sizes = {-3e38f, -1000, -104, -88, -1e-30f, 0, 1e-30f, 88, 104, 1000, 3e38f};
  for (ScoringFunc f : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    for (float z : sizes) {
      const Routes r = route(on, {.scoring = f, .logits = {z, 0}, .bias = {1e9f, 0}, .top_k = 2, .route_scale = 1.5f});
      EXPECT_EQ(r.expert, (Experts{0, 1}));
      EXPECT_NEAR(r.weight[0] + r.weight[1], 1.5f, 1e-6) << z;
      EXPECT_GE(r.weight[0], 0.0f);
    }
  }
  // Top 1 shows the score itself: sqrt(softplus(z)) is √z for large z, and e^(z/2) for small ones.
  const auto score = [this](float z) {
    return route(on, {.scoring = ScoringFunc::sqrtsoftplus, .logits = {z}, .bias = {0}}).weight[0];
  };
  EXPECT_EQ(score(1e6f), 1000.0f);
  EXPECT_NEAR(score(-100) / std::exp(-50.0), 1, 1e-6);  // log(1 + e^z) would be 0 here
  EXPECT_EQ(score(-3e38f), 0.0f);
}

TEST_P(Router, ScoresThatAreAllZeroGiveZeroWeights) {
  const Routes r = route(on, {.logits = {-1000, -1000, -1000}, .bias = {0, 0, 0}, .top_k = 2, .route_scale = 1.5f});
  EXPECT_EQ(r.expert, (Experts{0, 1}));
  EXPECT_EQ(r.weight, (std::vector<float>{0, 0}));
}

TEST_P(Router, NanComesLastAndNoExpertComesTwice) {
  EXPECT_EQ(route(on, {.logits = {0, 5, 1}, .bias = {0, not_a_number, 0}, .top_k = 3}).expert, (Experts{2, 0, 1}));
  // A NaN in x reaches every logit.
  EXPECT_EQ(route(on, {.logits = {0, not_a_number, 1}, .bias = {0, 1, 0}, .top_k = 2}).expert, (Experts{0, 1}));
}

TEST_P(Router, NoRowsIsNoWork) { EXPECT_TRUE(route(on, {.logits = {}, .bias = {0, 0}}).expert.empty()); }

TEST_P(Router, GateInBf16AndActivationsInBf16GiveWhatTheSameNumbersGiveInF32) {
  const std::int64_t rows = 5, dim = 33, experts = 7, top_k = 3;
  const Tensor<2> x16(DType::bf16, {rows, dim}, noise(rows * dim, 1));
  const Tensor<2> gate16(DType::bf16, {experts, dim}, noise(experts * dim, 2));
  Tensor<2> x32(DType::f32, {rows, dim}), gate32(DType::f32, {experts, dim});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < dim; ++i) x32.values()[r].store(i, x16.values()[r].load(i));
  }
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t i = 0; i < dim; ++i) gate32.values()[e].store(i, gate16.values()[e].load(i));
  }
  const std::vector<float> bias = noise(experts, 3), bias_vl = noise(experts, 4);
  const std::vector<std::uint8_t> image = {0, 1, 1, 0, 1};
  const auto run = [&](ConstValues<2> x, const Weight& gate, std::int64_t first, std::int64_t count) {
    std::vector<std::int32_t> expert(static_cast<std::size_t>(count * top_k));
    std::vector<float> weight(expert.size());
    on(&Backend::router, {.x = x.part(first, count),
                          .gate = gate,
                          .bias = {bias.data(), {experts}},
                          .bias_vl = {bias_vl.data(), {experts}},
                          .image = {image.data() + first, {count}},
                          .scoring = ScoringFunc::sqrtsoftplus,
                          .route_scale = 1.5f,
                          .expert = {expert.data(), {count, top_k}},
                          .weight = {weight.data(), {count, top_k}}});
    for (std::int32_t e : expert) weight.push_back(static_cast<float>(e));
    return weight;
  };
  EXPECT_EQ(run(x16.values(), gate16.weight(), 0, rows), run(x32.values(), gate32.weight(), 0, rows));
  // And a row alone gives the bits it has among the others (weights first, then experts: so row by row).
  const std::vector<float> all = run(x16.values(), gate16.weight(), 0, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<float> one = run(x16.values(), gate16.weight(), r, 1);
    const std::size_t at = static_cast<std::size_t>(r * top_k), n = static_cast<std::size_t>(top_k);
    EXPECT_TRUE(same_bits(std::span(one).first(n), std::span(all).subspan(at, n)));
    EXPECT_TRUE(same_bits(std::span(one).last(n), std::span(all).subspan(at + static_cast<std::size_t>(rows) * n, n)));
  }
}

struct RandomCase {
  Tensor<2> x;
  StoredWeight gate;
  std::vector<float> bias, bias_vl;
  Array<std::uint8_t, 1> image;
  ScoringFunc scoring = ScoringFunc::sqrtsoftplus;
  std::int64_t top_k;

  RandomCase(DType type, WeightFormat f, std::int64_t rows, std::int64_t experts, std::int64_t dim, std::int64_t k,
             Random& random)
      : x(type, {rows, dim}, random),
        gate(f, experts, dim, random),
        bias(random_floats(experts, random, 0.1f)),
        bias_vl(random_floats(experts, random, 0.1f)),
        image({rows}),
        top_k(k) {
    // Logits of a few units, as a trained gate gives them.
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, x.get(i) * 2 / std::sqrt(static_cast<double>(dim)));
    for (auto& i : image.at) i = static_cast<std::uint8_t>(random.below(2));
  }
  // The chosen experts; weights are left in `weight`.
  std::vector<float> run(const On& on, std::int64_t first, std::int64_t n) {
    const auto experts = static_cast<std::int64_t>(bias.size());
    Array<std::int32_t, 2> expert({n, top_k}, -1);
    Array<float, 2> weights({n, top_k});
    on(&Backend::router, {.x = x.values().part(first, n),
                          .gate = gate.weight,
                          .bias = {bias.data(), {experts}},
                          .bias_vl = {bias_vl.data(), {experts}},
                          .image = image.view().part(first, n),
                          .scoring = scoring,
                          .route_scale = 1.5f,
                          .expert = expert,
                          .weight = weights});
    weight = weights.at;
    return {expert.at.begin(), expert.at.end()};
  }
  std::vector<float> weight;
};

void expect_same_routes(RandomCase& c) {
  Agreement experts, weights;
  const auto rows = c.x.shape[0];
  experts.add([&](const On& on) { return c.run(on, 0, rows); });
  weights.add([&](const On& on) {
    c.run(on, 0, rows);
    return c.weight;
  });
  EXPECT_EQ(experts.unequal, 0);
  EXPECT_LE(weights.error, 2e-6);
}

TEST(RouterAgreement, AtEverySizeFormatAndScoring) {
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    Random random(1);
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::f16, WeightFormat::f32}) {
        for (const std::int64_t dim : {1, 15, 16, 33, 256}) {
          for (const std::int64_t experts : {1, 2, 5, 64}) {
            for (const std::int64_t top_k : {std::int64_t{1}, (experts + 1) / 2, experts}) {
              for (const std::int64_t rows : {0, 1, 5}) {
                RandomCase c(type, f, rows, experts, dim, top_k, random);
                c.scoring = scoring;
                expect_same_routes(c);
              }
            }
          }
        }
      }
    }
  }
}

TEST(RouterAgreement, AtTheReleasedShape) {
  Random random(2);
  RandomCase c(DType::bf16, WeightFormat::bf16, 4, 384, 5120, 6, random);
  expect_same_routes(c);
}

// Experts with the same gate rows and the same bias score the same bits, wherever they stand in a tile of the product.
TEST(RouterAgreement, OnEqualExperts) {
  Random random(3);
  for (const std::int64_t experts : {2, 7, 64, 130}) {
    for (const std::int64_t top_k : {std::int64_t{1}, std::min<std::int64_t>(6, experts), experts}) {
      RandomCase c(DType::bf16, WeightFormat::f32, 5, experts, 50, top_k, random);
      for (std::int64_t e = 0; e < experts; ++e) {  // three kinds of experts
        std::copy_n(c.gate.data.begin() + e % 3 * 200, 200, c.gate.data.begin() + e * 200);
        c.bias[static_cast<std::size_t>(e)] = c.bias[static_cast<std::size_t>(e % 3)];
        c.bias_vl[static_cast<std::size_t>(e)] = 0;
      }
      expect_same_routes(c);
    }
  }
}

TEST_P(Router, NanOfARowComesLastUnderEveryScoring) {
  Random random(4);
  RandomCase c(DType::f32, WeightFormat::f32, 2, 5, 3, 5, random);
  c.image.at = {0, 0};
  c.bias[2] = std::numeric_limits<float>::quiet_NaN();
  c.x.set(3, std::nan(""));  // reaches every logit of row 1
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    c.scoring = scoring;
    const std::vector<float> got = c.run(on, 0, 2);
    EXPECT_EQ(got, c.run(On(), 0, 2));
    EXPECT_EQ(got[4], 2);
    EXPECT_EQ(std::vector<float>(got.begin() + 5, got.end()), (std::vector<float>{0, 1, 2, 3, 4}));
  }
}

TEST(RouterAgreement, OnLogitsOfAnySize) {
  Random random(5);
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    for (const float size : {-3e38f, -1000.0f, -104.0f, -88.0f, 0.0f, 88.0f, 1000.0f, 3e38f}) {
      RandomCase c(DType::f32, WeightFormat::f32, 1, 2, 1, 2, random);
      const float ones[] = {1, 0};
      std::memcpy(c.gate.data.data(), ones, sizeof ones);
      c.scoring = scoring;
      c.x.set(0, size);
      expect_same_routes(c);
    }
  }
}

TEST_P(Router, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(7);
  RandomCase c(DType::bf16, WeightFormat::bf16, 8, 37, 100, 6, random);
  for (const bool of_weights : {true, false}) {
    EXPECT_TRUE(rows_stand_alone(8, [&](std::int64_t first, std::int64_t n) {
      const auto experts = c.run(on.with_threads(2), first, n);
      return of_weights ? c.weight : experts;
    }));
  }
}

}  // namespace
}  // namespace cachalot::router_test
