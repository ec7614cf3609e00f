// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/moe/router/router.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

struct Case {
  Tensor<2> x;
  StoredWeight gate;
  std::vector<float> bias, bias_vl;
  Array<std::uint8_t, 1> image;
  ScoringFunc scoring = ScoringFunc::sqrtsoftplus;
  std::int64_t top_k;

  Case(DType type, WeightFormat f, std::int64_t rows, std::int64_t experts, std::int64_t dim, std::int64_t k,
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
  std::vector<float> run(void (*op)(Context&, const RouterArgs&), Context& context, std::int64_t first,
                         std::int64_t n) {
    const auto experts = static_cast<std::int64_t>(bias.size());
    Array<std::int32_t, 2> expert({n, top_k}, -1);
    Array<float, 2> weights({n, top_k});
    op(context, {.x = x.values().part(first, n),
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

void expect_same_routes(Case& c) {
  Agreement experts, weights;
  const auto rows = c.x.shape[0];
  experts.add(router_ref, router_cpu, [&](auto op, Context& context) { return c.run(op, context, 0, rows); });
  weights.add(router_ref, router_cpu, [&](auto op, Context& context) {
    c.run(op, context, 0, rows);
    return c.weight;
  });
  EXPECT_EQ(experts.unequal, 0);
  EXPECT_LE(weights.error, 2e-6);
}

TEST(RouterCpu, ChoosesTheExpertsTheReferenceChooses) {
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    Random random(1);
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::f16, WeightFormat::f32}) {
        for (const std::int64_t dim : {1, 15, 16, 33, 256}) {
          for (const std::int64_t experts : {1, 2, 5, 64}) {
            for (const std::int64_t top_k : {std::int64_t{1}, (experts + 1) / 2, experts}) {
              for (const std::int64_t rows : {0, 1, 5}) {
                Case c(type, f, rows, experts, dim, top_k, random);
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

TEST(RouterCpu, ChoosesThemAtTheReleasedShape) {
  Random random(2);
  Case c(DType::bf16, WeightFormat::bf16, 4, 384, 5120, 6, random);
  expect_same_routes(c);
}

// Experts with the same gate rows and the same bias score the same bits, wherever they stand in a tile of the product.
TEST(RouterCpu, EqualExpertsAreTiesAndTheLowerOneWins) {
  Random random(3);
  for (const std::int64_t experts : {2, 7, 64, 130}) {
    for (const std::int64_t top_k : {std::int64_t{1}, std::min<std::int64_t>(6, experts), experts}) {
      Case c(DType::bf16, WeightFormat::f32, 5, experts, 50, top_k, random);
      for (std::int64_t e = 0; e < experts; ++e) {  // three kinds of experts
        std::copy_n(c.gate.data.begin() + e % 3 * 200, 200, c.gate.data.begin() + e * 200);
        c.bias[static_cast<std::size_t>(e)] = c.bias[static_cast<std::size_t>(e % 3)];
        c.bias_vl[static_cast<std::size_t>(e)] = 0;
      }
      expect_same_routes(c);
    }
  }
}

TEST(RouterCpu, NanComesLastAndNoExpertComesTwice) {
  Random random(4);
  Case c(DType::f32, WeightFormat::f32, 2, 5, 3, 5, random);
  c.image.at = {0, 0};
  c.bias[2] = std::numeric_limits<float>::quiet_NaN();
  c.x.set(3, std::nan(""));  // reaches every logit of row 1
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    c.scoring = scoring;
    Context context;
    const std::vector<float> want = c.run(router_ref, context, 0, 2);
    EXPECT_EQ(c.run(router_cpu, context, 0, 2), want);
    EXPECT_EQ(want[4], 2);
    EXPECT_EQ(std::vector<float>(want.begin() + 5, want.end()), (std::vector<float>{0, 1, 2, 3, 4}));
  }
}

TEST(RouterCpu, LogitsOfAnySizeGiveFiniteWeights) {
  Random random(5);
  for (const ScoringFunc scoring : {ScoringFunc::sqrtsoftplus, ScoringFunc::softmax, ScoringFunc::sigmoid}) {
    for (const float size : {-3e38f, -1000.0f, -104.0f, -88.0f, 0.0f, 88.0f, 1000.0f, 3e38f}) {
      Case c(DType::f32, WeightFormat::f32, 1, 2, 1, 2, random);
      const float ones[] = {1, 0};
      std::memcpy(c.gate.data.data(), ones, sizeof ones);
      c.scoring = scoring;
      c.x.set(0, size);
      expect_same_routes(c);
    }
  }
}

TEST(RouterCpuDeathTest, ImageRowWithoutAnImageBiasStops) {
  Random random(6);
  Case c(DType::f32, WeightFormat::f32, 1, 2, 1, 1, random);
  c.image.at = {1};
  Context context;
  Array<std::int32_t, 2> expert({1, 1});
  Array<float, 2> weight({1, 1});
  EXPECT_DEATH(
      router_cpu(
          context,
          {c.x, c.gate.weight, View<const float, 1>(c.bias.data(), {2}), {}, c.image, c.scoring, 1, expert, weight}),
      "bias_vl");
}

TEST(RouterCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(7);
  Case c(DType::bf16, WeightFormat::bf16, 8, 37, 100, 6, random);
  for (const bool of_weights : {true, false}) {
    EXPECT_TRUE(rows_stand_alone(8, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      const auto experts = c.run(router_cpu, context, first, n);
      return of_weights ? c.weight : experts;
    }));
  }
}

}  // namespace
}  // namespace cachalot
