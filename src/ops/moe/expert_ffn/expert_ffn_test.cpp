// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/expert_ffn/expert_ffn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/linear/linear.h"
#include "ops/test_tensors.h"

namespace cachalot {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

// One expert of inner width 1 that reads gate and up straight from x = (gate, up) and gives its product twice: as it is
// and times 2.
struct BareExpert {
  TestTensor<2> w1, w2, w3;

  explicit BareExpert(DType type) : w1(type, {1, 2}, {1, 0}), w2(type, {2, 1}, {1, 2}), w3(type, {1, 2}, {0, 1}) {}

  std::vector<float> run(DType x_type, DType out_type, float gate, float up, float weight, float limit) const {
    const ExpertWeights expert{w1.weight(), w2.weight(), w3.weight()};
    const TestTensor<2> x(x_type, {1, 2}, {gate, up});
    const std::int32_t zero = 0;
    TestTensor<3> out(out_type, {1, 1, 2});
    Context context;
    expert_ffn_ref(context, {.x = x.view(),
                             .experts = {&expert, 1},
                             .expert = {&zero, {1, 1}},
                             .weight = {&weight, {1, 1}},
                             .limit = limit,
                             .out = out.view()});
    return out.numbers();
  }
  float f32(float gate, float up, float weight, float limit) const {
    return run(DType::f32, DType::f32, gate, up, weight, limit)[0];
  }
};

TEST(ExpertFfn, IsWeightTimesSiluOfTheGateTimesUp) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(2, 3, 0.5f, 0), static_cast<float>(0.5 * silu(2) * 3));
  EXPECT_EQ(e.f32(0, 3, 1, 0), 0.0f);
  const std::vector<float> both = e.run(DType::f32, DType::f32, 2, 3, 0.5f, 0);
  EXPECT_EQ(both[1], 2 * both[0]);
}

TEST(ExpertFfn, GateIsClampedFromAboveOnlyAndUpOnBothSides) {
  const BareExpert e(DType::f32);
  const auto want = [](double gate, double up) { return static_cast<float>(silu(gate) * up); };
  EXPECT_FLOAT_EQ(e.f32(20, 1, 1, 10), want(10, 1));
  EXPECT_FLOAT_EQ(e.f32(-20, 1, 1, 10), want(-20, 1));
  EXPECT_FLOAT_EQ(e.f32(1, 20, 1, 10), want(1, 10));
  EXPECT_FLOAT_EQ(e.f32(1, -20, 1, 10), want(1, -10));
  EXPECT_FLOAT_EQ(e.f32(9.5f, -9.5f, 1, 10), want(9.5, -9.5));
  EXPECT_FLOAT_EQ(e.f32(10, 10, 1, 10), want(10, 10));
}

TEST(ExpertFfn, LimitZeroClampsNothing) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(20, 30, 1, 0), static_cast<float>(silu(20) * 30));
  EXPECT_FLOAT_EQ(e.f32(20, -30, 1, 0), static_cast<float>(silu(20) * -30));
}

TEST(ExpertFfn, WeightIsAppliedAfterTheClamp) {
  const BareExpert e(DType::f32);
  EXPECT_FLOAT_EQ(e.f32(20, 20, 4, 10), static_cast<float>(4 * silu(10) * 10));
}

TEST(ExpertFfn, GatesOfAnySizeStayFinite) {
  const BareExpert e(DType::f32);
  EXPECT_EQ(e.f32(-3e38f, 1, 1, 0), 0.0f);
  EXPECT_EQ(e.f32(-1000, 1, 1, 0), 0.0f);
  EXPECT_EQ(e.f32(1000, 1, 1, 0), 1000.0f);
}

TEST(ExpertFfn, WeightMultipliesBeforeTheProductIsRoundedAndProjected) {
  const BareExpert e(DType::bf16);
  int after_would_differ = 0;
  for (float gate : noise(50, 1, 4.0f)) {
    const double g = round_bf16(gate), p = silu(g) * 1.5;
    const double weight = 0.7f;
    const float before = to_float(to_bf16(weight * p));
    const float after = to_float(to_bf16(weight * to_float(to_bf16(p))));
    after_would_differ += before != after;
    EXPECT_EQ(e.run(DType::bf16, DType::bf16, gate, 1.5f, 0.7f, 0)[0], before);
  }
  EXPECT_GT(after_would_differ, 5);
}

TEST(ExpertFfn, GateAndUpAreRoundedToTheTypeOfX) {
  // w1·x and w3·x are 1 + 2^-9: 1 in bf16.
  const TestTensor<2> w13(DType::f32, {1, 2}, {1, 1}), w2(DType::f32, {1, 1}, {1});
  const ExpertWeights expert{w13.weight(), w2.weight(), w13.weight()};
  const auto run = [&](DType type) {
    const TestTensor<2> x(type, {1, 2}, {1, 0x1p-9f});
    TestTensor<3> out(DType::f32, {1, 1, 1});
    const std::int32_t zero = 0;
    const float one = 1;
    Context context;
    expert_ffn_ref(context, {.x = x.view(),
                             .experts = {&expert, 1},
                             .expert = {&zero, {1, 1}},
                             .weight = {&one, {1, 1}},
                             .limit = 0,
                             .out = out.view()});
    return out.numbers()[0];
  };
  EXPECT_EQ(run(DType::bf16), to_float(to_bf16(silu(1))));
  EXPECT_FLOAT_EQ(run(DType::f32), static_cast<float>(silu(1 + 0x1p-9) * (1 + 0x1p-9)));
}

TEST(ExpertFfn, OutKeepsTheSumInItsOwnType) {
  const BareExpert e(DType::bf16);
  const float rounded = to_float(to_bf16(0.7 * silu(1.5) * 1.5));
  EXPECT_EQ(e.run(DType::bf16, DType::f32, 1.5f, 1.5f, 0.7f, 0), (std::vector<float>{rounded, 2 * rounded}));
}

// Experts in the three formats of released experts, random codes, all scales 2^-8.
struct RandomExperts {
  std::int64_t dim = 64, inter = 96;
  std::vector<std::uint8_t> scale = std::vector<std::uint8_t>(96 * 96, 119), codes;
  TestTensor<2> plain = TestTensor<2>(DType::bf16, {96, 64}, noise(96 * 64, 9, 0.1f));
  std::vector<ExpertWeights> experts;

  RandomExperts() {
    std::mt19937 generator(5);
    for (int i = 0; i < 3 * 96 * 64; ++i) codes.push_back(static_cast<std::uint8_t>(generator() >> 24 & 0xBBu));
    const auto weight = [&](WeightFormat f, std::int64_t out, std::int64_t in, std::int64_t at) {
      return Weight{f, out, in, f == WeightFormat::bf16 ? plain.weight().data : codes.data() + at, scale.data()};
    };
    for (WeightFormat f : {WeightFormat::bf16, WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
      experts.push_back({weight(f, inter, dim, 0), weight(f, dim, inter, 96 * 64), weight(f, inter, dim, 2 * 96 * 64)});
    }
  }

  // [rows, top_k, dim] of noise x.
  std::vector<float> run(DType type, std::int64_t first, std::int64_t rows, const std::vector<std::int32_t>& expert,
                         const std::vector<float>& weight, std::int64_t top_k) const {
    const TestTensor<2> x(type, {first + rows, dim}, noise((first + rows) * dim, 7));
    TestTensor<3> out(type, {rows, top_k, dim});
    Context context;
    expert_ffn_ref(context, {.x = x.view().part(first, rows),
                             .experts = experts,
                             .expert = {expert.data() + first * top_k, {rows, top_k}},
                             .weight = {weight.data() + first * top_k, {rows, top_k}},
                             .limit = 1,
                             .out = out.view()});
    return out.numbers();
  }
};

TEST(ExpertFfn, EveryFormatEqualsItsLinearsOneByOne) {
  const RandomExperts e;
  for (DType type : {DType::bf16, DType::f32}) {
    for (std::size_t i = 0; i < e.experts.size(); ++i) {
      const ExpertWeights& w = e.experts[i];
      const TestTensor<2> x(type, {1, e.dim}, noise(e.dim, 7));
      TestTensor<2> gate(type, {1, e.inter}), up(type, {1, e.inter}), product(type, {1, e.inter}),
          want(type, {1, e.dim});
      Context context;
      linear_ref(context, {x.view(), w.w1, gate.view()});
      linear_ref(context, {x.view(), w.w3, up.view()});
      for (std::int64_t k = 0; k < e.inter; ++k) {
        const float g = std::min(gate.view()[0].load(k), 1.0f), u = std::clamp(up.view()[0].load(k), -1.0f, 1.0f);
        product.view()[0].store(k, 0.75f * (static_cast<float>(silu(g)) * u));
      }
      linear_ref(context, {product.view(), w.w2, want.view()});
      EXPECT_EQ(e.run(type, 0, 1, {static_cast<std::int32_t>(i)}, {0.75f}, 1), want.numbers()) << i;
    }
  }
}

TEST(ExpertFfn, EachPlaceOfARowIsItsOwnExpert) {
  const RandomExperts e;
  const std::vector<float> both = e.run(DType::bf16, 0, 1, {2, 0}, {0.5f, 0.25f}, 2);
  std::vector<float> joined = e.run(DType::bf16, 0, 1, {2}, {0.5f}, 1);
  const std::vector<float> second = e.run(DType::bf16, 0, 1, {0}, {0.25f}, 1);
  EXPECT_NE(joined, second);
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_TRUE(same_bits(both, joined));
}

TEST(ExpertFfn, RowAloneGivesTheBitsItHasAmongOthers) {
  const RandomExperts e;
  const std::vector<std::int32_t> expert = {0, 1, 2, 1, 2, 0, 1, 2};
  const std::vector<float> weight = noise(8, 8);
  for (DType type : {DType::bf16, DType::f32}) {
    EXPECT_TRUE(rows_stand_alone(
        4, [&](std::int64_t first, std::int64_t n) { return e.run(type, first, n, expert, weight, 2); }));
  }
}

TEST(ExpertFfn, NoRowsAndNoExpertsOfARowWork) {
  const RandomExperts e;
  EXPECT_TRUE(e.run(DType::bf16, 0, 0, {}, {}, 2).empty());
  EXPECT_TRUE(e.run(DType::bf16, 0, 3, {}, {}, 0).empty());
}

TEST(ExpertFfn, ExpertThatIsNotThereStops) {
  const RandomExperts e;
  EXPECT_DEATH(e.run(DType::bf16, 0, 1, {3}, {1}, 1), "an expert that is there");
  EXPECT_DEATH(e.run(DType::bf16, 0, 1, {-1}, {1}, 1), "an expert that is there");
}

}  // namespace
}  // namespace cachalot
