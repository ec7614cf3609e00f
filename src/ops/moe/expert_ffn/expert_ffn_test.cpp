// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/expert_ffn/expert_ffn.h"

#include <cmath>
#include <memory>

#include "ops/linear/linear.h"
#include "ops/test_backends.h"

namespace cachalot::expert_ffn_test {
namespace {

using ExpertFfn = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, ExpertFfn, each_backend(), place_name);

double silu(double x) { return x / (1 + std::exp(-x)); }

// One expert of inner width 1 that reads gate and up straight from x = (gate, up) and gives its product twice: as it is
// and times 2.
struct BareExpert {
  Tensor<2> w1, w2, w3;

  explicit BareExpert(DType type) : w1(type, {1, 2}, {1, 0}), w2(type, {2, 1}, {1, 2}), w3(type, {1, 2}, {0, 1}) {}

  std::vector<float> run(const On& on, DType x_type, DType out_type, float gate, float up, float weight,
                         float limit) const {
    const ExpertWeights expert{w1.weight(), w2.weight(), w3.weight()};
    const Tensor<2> x(x_type, {1, 2}, {gate, up});
    const std::int32_t zero = 0;
    Tensor<3> out(out_type, {1, 1, 2});
    on(&Backend::expert_ffn, {.x = x.values(),
                              .experts = {&expert, 1},
                              .expert = {&zero, {1, 1}},
                              .weight = {&weight, {1, 1}},
                              .limit = limit,
                              .out = out.values()});
    return floats(out);
  }
  float f32(const On& on, float gate, float up, float weight, float limit) const {
    return run(on, DType::f32, DType::f32, gate, up, weight, limit)[0];
  }
};

TEST_P(ExpertFfn, IsWeightTimesSiluOfTheGateTimesUp) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(on, 2, 3, 0.5f, 0), static_cast<float>(0.5 * silu(2) * 3));
  EXPECT_EQ(e.f32(on, 0, 3, 1, 0), 0.0f);
  const std::vector<float> both = e.run(on, DType::f32, DType::f32, 2, 3, 0.5f, 0);
  EXPECT_EQ(both[1], 2 * both[0]);
}

TEST_P(ExpertFfn, GateIsClampedFromAboveOnlyAndUpOnBothSides) {
  const BareExpert e(DType::f32);
  const auto want = [](double gate, double up) { return static_cast<float>(silu(gate) * up); };
  EXPECT_FLOAT_EQ(e.f32(on, 20, 1, 1, 10), want(10, 1));
  EXPECT_FLOAT_EQ(e.f32(on, -20, 1, 1, 10), want(-20, 1));
  EXPECT_FLOAT_EQ(e.f32(on, 1, 20, 1, 10), want(1, 10));
  EXPECT_FLOAT_EQ(e.f32(on, 1, -20, 1, 10), want(1, -10));
  EXPECT_FLOAT_EQ(e.f32(on, 9.5f, -9.5f, 1, 10), want(9.5, -9.5));
  EXPECT_FLOAT_EQ(e.f32(on, 10, 10, 1, 10), want(10, 10));
}

TEST_P(ExpertFfn, LimitZeroClampsNothing) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(on, 20, 30, 1, 0), static_cast<float>(silu(20) * 30));
  EXPECT_FLOAT_EQ(e.f32(on, 20, -30, 1, 0), static_cast<float>(silu(20) * -30));
}

TEST_P(ExpertFfn, WeightIsAppliedAfterTheClamp) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(on, 20, 20, 4, 10), static_cast<float>(4 * silu(10) * 10));
}

TEST_P(ExpertFfn, GatesOfAnySizeStayFinite) {
  const BareExpert e(DType::f32);
  EXPECT_EQ(e.f32(on, -3e38f, 1, 1, 0), 0.0f);
  EXPECT_EQ(e.f32(on, -1000, 1, 1, 0), 0.0f);
  EXPECT_EQ(e.f32(on, 1000, 1, 1, 0), 1000.0f);
}

TEST_P(ExpertFfn, WeightMultipliesBeforeTheProductIsRoundedAndProjected) {
  const BareExpert e(DType::bf16);
  int after_would_differ = 0;
  for (float gate : noise(50, 1, 4.0f)) {
    const double g = round_bf16(gate), p = silu(g) * 1.5;
    const double weight = 0.7f;
    const float before = to_float(to_bf16(weight * p));
    const float after = to_float(to_bf16(weight * to_float(to_bf16(p))));
    after_would_differ += before != after;
    EXPECT_EQ(e.run(on, DType::bf16, DType::bf16, gate, 1.5f, 0.7f, 0)[0], before);
  }
  EXPECT_GT(after_would_differ, 5);
}

TEST_P(ExpertFfn, GateAndUpAreRoundedToTheTypeOfX) {
  // w1·x and w3·x are 1 + 2^-9: 1 in bf16.
  const Tensor<2> w13(DType::f32, {1, 2}, {1, 1}), w2(DType::f32, {1, 1}, {1});
  const ExpertWeights expert{w13.weight(), w2.weight(), w13.weight()};
  const auto run = [&](DType type) {
    const Tensor<2> x(type, {1, 2}, {1, 0x1p-9f});
    Tensor<3> out(DType::f32, {1, 1, 1});
    const std::int32_t zero = 0;
    const float one = 1;
    on(&Backend::expert_ffn, {.x = x.values(),
                              .experts = {&expert, 1},
                              .expert = {&zero, {1, 1}},
                              .weight = {&one, {1, 1}},
                              .limit = 0,
                              .out = out.values()});
    return floats(out)[0];
  };
  EXPECT_EQ(run(DType::bf16), to_float(to_bf16(silu(1))));
  EXPECT_FLOAT_EQ(run(DType::f32), static_cast<float>(silu(1 + 0x1p-9) * (1 + 0x1p-9)));
}

TEST_P(ExpertFfn, OutKeepsTheSumInItsOwnType) {
  const BareExpert e(DType::bf16);
  const float rounded = to_float(to_bf16(0.7 * silu(1.5) * 1.5));
  EXPECT_EQ(e.run(on, DType::bf16, DType::f32, 1.5f, 1.5f, 0.7f, 0), (std::vector<float>{rounded, 2 * rounded}));
}

// Experts in the three formats of released experts, random codes, all scales 2^-8.
struct RandomExperts {
  std::int64_t dim = 64, inter = 96;
  std::vector<std::uint8_t> scale = std::vector<std::uint8_t>(96 * 96, 119), codes;
  Tensor<2> plain = Tensor<2>(DType::bf16, {96, 64}, noise(96 * 64, 9, 0.1f));
  std::vector<ExpertWeights> experts;

  RandomExperts() {
    Random random(5);
    for (int i = 0; i < 3 * 96 * 64; ++i) codes.push_back(static_cast<std::uint8_t>(random.bits() & 0xBBu));
    const auto weight = [&](WeightFormat f, std::int64_t out, std::int64_t in, std::int64_t at) {
      return Weight{f, out, in, f == WeightFormat::bf16 ? plain.weight().data : codes.data() + at, scale.data()};
    };
    for (WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
      experts.push_back({weight(f, inter, dim, 0), weight(f, dim, inter, 96 * 64), weight(f, inter, dim, 2 * 96 * 64)});
    }
  }

  // [rows, top_k, dim] of noise x.
  std::vector<float> run(const On& on, DType type, std::int64_t first, std::int64_t rows,
                         const std::vector<std::int32_t>& expert, const std::vector<float>& weight,
                         std::int64_t top_k) const {
    const Tensor<2> x(type, {first + rows, dim}, noise((first + rows) * dim, 7));
    Tensor<3> out(type, {rows, top_k, dim});
    on(&Backend::expert_ffn, {.x = x.values().part(first, rows),
                              .experts = experts,
                              .expert = {expert.data() + first * top_k, {rows, top_k}},
                              .weight = {weight.data() + first * top_k, {rows, top_k}},
                              .limit = 1,
                              .out = out.values()});
    return floats(out);
  }
};

TEST_P(ExpertFfn, EveryFormatEqualsItsLinearsOneByOne) {
  const RandomExperts e;
  for (DType type : {DType::bf16, DType::f32}) {
    for (std::size_t i = 0; i < e.experts.size(); ++i) {
      const ExpertWeights& w = e.experts[i];
      const Tensor<2> x(type, {1, e.dim}, noise(e.dim, 7));
      Tensor<2> gate(type, {1, e.inter}), up(type, {1, e.inter}), product(type, {1, e.inter}), want(type, {1, e.dim});
      on(&Backend::linear, {x.values(), w.w1, gate.values()});
      on(&Backend::linear, {x.values(), w.w3, up.values()});
      for (std::int64_t k = 0; k < e.inter; ++k) {
        const float g = std::min(gate.values()[0].load(k), 1.0f), u = std::clamp(up.values()[0].load(k), -1.0f, 1.0f);
        product.values()[0].store(k, 0.75f * (static_cast<float>(silu(g)) * u));
      }
      on(&Backend::linear, {product.values(), w.w2, want.values()});
      const std::vector<float> got = e.run(on, type, 0, 1, {static_cast<std::int32_t>(i)}, {0.75f}, 1);
      if (on.is_reference()) {
        EXPECT_EQ(got, floats(want)) << i;
        continue;
      }
      Agreement agreement;  // silu is good to an ulp or two
      agreement.add(got, floats(want));
      type == DType::bf16 ? expect_bf16_agrees(agreement) : expect_f32_agrees(agreement);
    }
  }
}

TEST_P(ExpertFfn, EachPlaceOfARowIsItsOwnExpert) {
  const RandomExperts e;
  const std::vector<float> both = e.run(on, DType::bf16, 0, 1, {2, 0}, {0.5f, 0.25f}, 2);
  std::vector<float> joined = e.run(on, DType::bf16, 0, 1, {2}, {0.5f}, 1);
  const std::vector<float> second = e.run(on, DType::bf16, 0, 1, {0}, {0.25f}, 1);
  EXPECT_NE(joined, second);
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_TRUE(same_bits(both, joined));
}

TEST_P(ExpertFfn, NoRowsAndNoExpertsOfARowWork) {
  const RandomExperts e;
  EXPECT_TRUE(e.run(on, DType::bf16, 0, 0, {}, {}, 2).empty());
  EXPECT_TRUE(e.run(on, DType::bf16, 0, 3, {}, {}, 0).empty());
}

TEST_P(ExpertFfn, ExpertThatIsNotThereStops) {
  const RandomExperts e;
  EXPECT_DEATH(e.run(on, DType::bf16, 0, 1, {3}, {1}, 1), "an expert that is there");
  EXPECT_DEATH(e.run(on, DType::bf16, 0, 1, {-1}, {1}, 1), "an expert that is there");
}

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
  std::vector<float> run(const On& on, DType out_type, std::int64_t first, std::int64_t n) {
    Tensor<3> out(out_type, {n, expert.shape[1], x.shape[1]});
    on(&Backend::expert_ffn, {x.values().part(first, n), experts.weights, expert.view().part(first, n),
                              weight.view().part(first, n), limit, out});
    return floats(out);
  }
};

constexpr DType both_types[] = {DType::bf16, DType::f32};

TEST(ExpertFfnAgreement, InEveryFormatAndType) {
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
                agreement.add([&](const On& on) { return c.run(on, out_type, 0, rows); });
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

TEST(ExpertFfnAgreement, AtOddWidthsAndMixedFormats) {
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
      agreement.add([&](const On& on) { return c.run(on, type, 0, c.x.shape[0]); });
    }
    EXPECT_LE(agreement.error, type == DType::bf16 ? 5e-2 : 5e-6) << agreement;
    EXPECT_LE(agreement.share(), type == DType::bf16 ? 0.01 : 1) << agreement;
  }
}

// A width of one lane: out is silu(limit(x · w1)) · limit(x · w3) itself.
TEST_P(ExpertFfn, ActivationOfAnySizeIsTheReferences) {
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
        const auto run = [&](const On& place, float* out) {
          place(&Backend::expert_ffn,
                {ConstValues<2>(x, DType::f32, {1, 2}), experts, View<const std::int32_t, 2>(&zero, {1, 1}),
                 View<const float, 2>(&weight, {1, 1}), limit, Values<3>(out, DType::f32, {1, 1, 2})});
        };
        run(On(), want);
        run(on, got);
        if (got[0] == want[0]) continue;  // inf as well
        EXPECT_LE(std::abs(got[0] - want[0]), 4e-7f * std::abs(want[0]) + 1e-37f) << gate << " " << up;
      }
    }
  }
}

TEST_P(ExpertFfn, NanOfOneRowReachesNoOther) {
  Random random(3);
  Experts experts;
  experts.add(WeightFormat::f32, 32, 32, random);
  Case c(experts, DType::f32, 3, 1, random);
  c.x.set(40, std::nan(""));
  const std::vector<float> out = c.run(on, DType::f32, 0, 3);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 32 == 1) << i;
}

TEST_P(ExpertFfn, RowAloneGivesTheBitsItHasAmongOthers) {
  const RandomExperts e;
  const std::vector<std::int32_t> expert = {0, 1, 2, 1, 2, 0, 1, 2};
  const std::vector<float> weight = noise(8, 8);
  for (DType type : {DType::bf16, DType::f32}) {
    EXPECT_TRUE(rows_stand_alone(4, [&](std::int64_t first, std::int64_t n) {
      return e.run(on.with_threads(2), type, first, n, expert, weight, 2);
    }));
  }
  for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
    for (const DType type : both_types) {
      Random random(4);
      Experts experts;
      for (int i = 0; i < 4; ++i) experts.add(f, 64, 96, random);
      Case c(experts, type, 9, 3, random);
      EXPECT_TRUE(rows_stand_alone(
          9, [&](std::int64_t first, std::int64_t n) { return c.run(on.with_threads(2), type, first, n); }));
    }
  }
}

TEST_P(ExpertFfn, OutMayStandApart) {
  Random random(5);
  Experts experts;
  for (int e = 0; e < 3; ++e) experts.add(WeightFormat::bf16, 32, 32, random);
  for (const DType type : both_types) {
    Case c(experts, type, 3, 2, random);
    const std::vector<float> want = c.run(on, type, 0, 3);
    Tensor<3> wide(type, {3, 4, 40});
    const Values<3> out(wide.bytes.data(), type, {3, 2, 32}, {160, 40, 1});
    on(&Backend::expert_ffn, {c.x, experts.weights, c.expert, c.weight, c.limit, out});
    std::vector<float> got;
    for (std::int64_t p = 0; p < 6; ++p) {
      for (const float v : ConstValues<1>(out[p / 2][p % 2]).floats()) got.push_back(v);
    }
    EXPECT_TRUE(same_bits(got, want));
  }
}

}  // namespace
}  // namespace cachalot::expert_ffn_test
