// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>

#include "ops/moe/expert_ffn/expert_ffn.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

// Scales so that gate and up are around 1.
void shrink(StoredWeight& w) {
  for (auto& s : w.scale) s = static_cast<std::uint8_t>(s - 6);
}

struct Experts {
  std::vector<std::unique_ptr<StoredWeight>> memory;
  std::vector<ExpertWeights> weights;

  void add(WeightFormat f, std::int64_t dim, std::int64_t inter, Random& random) {
    for (int i = 0; i < 3; ++i) {
      memory.push_back(std::make_unique<StoredWeight>(f, i == 1 ? dim : inter, i == 1 ? inter : dim, random));
      shrink(*memory.back());
    }
    const auto last = memory.end();
    weights.push_back({last[-3]->weight, last[-2]->weight, last[-1]->weight});
  }
};

struct Case {
  Experts& experts;
  Tensor<2> x;
  Array<std::int32_t, 2> expert;
  Array<float, 2> weight;
  float limit = 1;

  Case(Experts& e, DType type, std::int64_t rows, std::int64_t top_k, Random& random)
      : experts(e), x(type, {rows, e.weights[0].w1.in}, random), expert({rows, top_k}), weight({rows, top_k}) {
    for (auto& i : expert.at) i = static_cast<std::int32_t>(random.below(static_cast<std::int64_t>(e.weights.size())));
    for (auto& w : weight.at) w = random.real();
  }
  std::vector<float> run(void (*op)(Context&, const ExpertFfnArgs&), Context& context, DType out_type,
                         std::int64_t first, std::int64_t n) {
    Tensor<3> out(out_type, {n, expert.shape[1], x.shape[1]});
    op(context, {x.values().part(first, n), experts.weights, expert.view().part(first, n), weight.view().part(first, n),
                 limit, out});
    return floats(out);
  }
};

constexpr DType both_types[] = {DType::bf16, DType::f32};

TEST(ExpertFfnCpu, AgreesWithTheReferenceInEveryFormatAndType) {
  for (const DType type : both_types) {
    for (const DType out_type : both_types) {
      Random random(1);
      Agreement agreement;
      for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
        for (const auto& [dim, inter] : {std::pair<std::int64_t, std::int64_t>{32, 32}, {64, 96}, {160, 64}}) {
          Experts experts;
          for (int e = 0; e < 5; ++e) experts.add(f, dim, inter, random);
          for (const std::int64_t rows : {0, 1, 2, 7}) {
            for (const std::int64_t top_k : {0, 1, 3, 6}) {
              for (const float limit : {0.0f, 1.0f}) {
                Case c(experts, type, rows, top_k, random);
                c.limit = limit;
                agreement.add(expert_ffn_ref, expert_ffn_cpu,
                              [&](auto op, Context& context) { return c.run(op, context, out_type, 0, rows); });
              }
            }
          }
        }
      }
      // Where x is bf16, a product that rounds the other way may move an fp8 code: a step of 1/16 in one of `inter`.
      if (type == DType::bf16) {
        EXPECT_LE(agreement.share(), out_type == DType::bf16 ? 0.01 : 1) << agreement;
        EXPECT_LE(agreement.error, 5e-2) << agreement;
      } else {
        out_type == DType::bf16 ? expect_bf16_agrees(agreement) : expect_f32_agrees(agreement, 1e-5);  // two sums deep
      }
    }
  }
}

TEST(ExpertFfnCpu, OddWidthsAndMixedFormatsAgree) {
  Random random(2);
  for (const DType type : both_types) {
    Agreement agreement;
    Experts experts;
    experts.add(WeightFormat::bf16, 32, 1, random);  // inner widths may differ from expert to expert
    experts.add(WeightFormat::f32, 32, 17, random);
    experts.add(WeightFormat::e4m3_block32, 32, 64, random);
    experts.add(WeightFormat::e2m1_row32, 32, 32, random);
    for (int i = 0; i < 20; ++i) {
      const std::int64_t rows = 1 + random.below(8), top_k = 1 + random.below(4);
      Case c(experts, type, rows, top_k, random);
      agreement.add(expert_ffn_ref, expert_ffn_cpu,
                    [&](auto op, Context& context) { return c.run(op, context, type, 0, c.x.shape[0]); });
    }
    EXPECT_LE(agreement.error, type == DType::bf16 ? 5e-2 : 5e-6) << agreement;
    EXPECT_LE(agreement.share(), type == DType::bf16 ? 0.01 : 1) << agreement;
  }
}

// A width of one lane: out is silu(limit(x · w1)) · limit(x · w3) itself.
TEST(ExpertFfnCpu, ActivationIsThatOfTheReferenceForNumbersOfAnySize) {
  const std::vector<float> first = {1, 0}, second = {0, 1}, ones = {1, 1};
  const std::vector<ExpertWeights> experts = {{{WeightFormat::f32, 1, 2, first.data()},
                                               {WeightFormat::f32, 2, 1, ones.data()},
                                               {WeightFormat::f32, 1, 2, second.data()}}};
  std::vector<float> sizes = {0,   -0.0f, 1e-30f, -1e-30f, 0.5f,   -0.5f,  9.5f,    -9.5f, 10,    -10,   20,
                              -20, 87,    -87,    88.5f,   -88.5f, 103.5f, -103.5f, 1000,  -1000, 3e38f, -3e38f};
  for (float v = -30; v < 30; v += 0.37f) sizes.push_back(v);
  const std::int32_t zero = 0;
  const float weight = 0.75f;
  for (const float limit : {0.0f, 10.0f}) {
    for (const float gate : sizes) {
      for (const float up : {1.0f, -3.0f, 30.0f}) {
        const float x[] = {gate, up};
        float got[2], want[2];
        Context context;
        const auto run = [&](auto op, float* out) {
          op(context, {ConstValues<2>(x, DType::f32, {1, 2}), experts, View<const std::int32_t, 2>(&zero, {1, 1}),
                       View<const float, 2>(&weight, {1, 1}), limit, Values<3>(out, DType::f32, {1, 1, 2})});
        };
        run(expert_ffn_ref, want);
        run(expert_ffn_cpu, got);
        if (got[0] == want[0]) continue;  // inf as well
        EXPECT_LE(std::abs(got[0] - want[0]), 4e-7f * std::abs(want[0]) + 1e-37f) << gate << " " << up;
      }
    }
  }
}

TEST(ExpertFfnCpu, NanOfOneRowReachesNoOther) {
  Random random(3);
  Experts experts;
  experts.add(WeightFormat::f32, 32, 32, random);
  Case c(experts, DType::f32, 3, 1, random);
  c.x.set(40, std::nan(""));
  Context context;
  const std::vector<float> out = c.run(expert_ffn_cpu, context, DType::f32, 0, 3);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 32 == 1) << i;
}

TEST(ExpertFfnCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
    for (const DType type : both_types) {
      Random random(4);
      Experts experts;
      for (int e = 0; e < 4; ++e) experts.add(f, 64, 96, random);
      Case c(experts, type, 9, 3, random);
      EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
        Context context(2);
        return c.run(expert_ffn_cpu, context, type, first, n);
      }));
    }
  }
}

TEST(ExpertFfnCpu, OutMayStandApart) {
  Random random(5);
  Experts experts;
  for (int e = 0; e < 3; ++e) experts.add(WeightFormat::bf16, 32, 32, random);
  for (const DType type : both_types) {
    Case c(experts, type, 3, 2, random);
    Context context;
    const std::vector<float> want = c.run(expert_ffn_cpu, context, type, 0, 3);
    Tensor<3> wide(type, {3, 4, 40});
    const Values<3> out(wide.bytes.data(), type, {3, 2, 32}, {160, 40, 1});
    expert_ffn_cpu(context, {c.x, experts.weights, c.expert, c.weight, c.limit, out});
    std::vector<float> got;
    for (std::int64_t p = 0; p < 6; ++p) {
      for (const float v : ConstValues<1>(out[p / 2][p % 2]).floats()) got.push_back(v);
    }
    EXPECT_TRUE(same_bits(got, want));
  }
}

TEST(ExpertFfnCpuDeathTest, ExpertThatIsNotThereStops) {
  Random random(6);
  Experts experts;
  experts.add(WeightFormat::bf16, 32, 32, random);
  Case c(experts, DType::f32, 1, 1, random);
  Context context;
  for (const std::int32_t e : {-1, 1}) {
    c.expert.at = {e};
    EXPECT_DEATH(c.run(expert_ffn_cpu, context, DType::f32, 0, 1), "an expert that is there");
  }
}

}  // namespace
}  // namespace cachalot
