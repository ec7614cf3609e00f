// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/gate/gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

struct Case {
  DType type = DType::f32;
  std::int64_t copies = 1, dim = 1;
  std::vector<float> h;               // [rows, copies, dim]
  std::vector<float> kv;              // [rows, (copies + 1) · dim]
  std::vector<float> q = {}, k = {};  // [copies, dim]; none: all 1
  std::vector<std::uint8_t> image = {};
  float eps = 1e-20f;
  bool in_place = false;
};

struct Result {
  std::vector<float> gate, out;
};

Result run(Case c) {
  const std::int64_t width = c.copies * c.dim, rows = static_cast<std::int64_t>(c.h.size()) / width;
  for (auto* weight : {&c.q, &c.k}) {
    if (weight->empty()) weight->assign(static_cast<std::size_t>(width), 1);
  }
  if (c.image.empty()) c.image.assign(c.h.size(), 0);
  const TestTensor<2> kv(c.type, {rows, width + c.dim}, c.kv);
  const TestTensor<2> q(DType::f32, {c.copies, c.dim}, c.q), k(DType::f32, {c.copies, c.dim}, c.k);
  TestTensor<3> h(c.type, {rows, c.copies, c.dim}, c.h), other(c.type, {rows, c.copies, c.dim});
  TestTensor<3>& out = c.in_place ? h : other;
  Result r{std::vector<float>(static_cast<std::size_t>(rows * c.copies), -1), {}};
  Context context;
  engram_gate_ref(context, {.h = h.view(),
                            .kv = kv.view(),
                            .q_weight = q.view(),
                            .k_weight = k.view(),
                            .eps = c.eps,
                            .image = {c.image.data(), {rows}},
                            .gate = {r.gate.data(), {rows, c.copies}},
                            .out = out.view()});
  r.out = out.numbers();
  return r;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(EngramGate, IsTheSigmoidOfTheRootOfTheSimilarity) {
  // h and key both (1, 1, 1, 1): dot 4, root mean squares 1, over √4: 2.
  const Result r = run({.dim = 4, .h = {1, 1, 1, 1}, .kv = {1, 1, 1, 1, 10, 20, 30, 40}});
  EXPECT_NEAR(r.gate[0], sigmoid(std::sqrt(2.0)), 1e-7);
  for (std::size_t d = 0; d < 4; ++d) EXPECT_FLOAT_EQ(r.out[d], 1 + r.gate[0] * 10 * static_cast<float>(d + 1));
}

TEST(EngramGate, SizeOfTheStreamAndOfTheKeyDropsOut) {
  const Result r = run({.dim = 2, .h = {3, 3}, .kv = {500, 500, 0, 0}});
  EXPECT_NEAR(r.gate[0], sigmoid(std::pow(2.0, 0.25)), 1e-7);  // 2 / √2, then its root
}

TEST(EngramGate, NegativeSimilarityKeepsItsSign) {
  const Result r = run({.dim = 4, .h = {1, 1, 1, 1}, .kv = {-1, -1, -1, -1, 0, 0, 0, 0}});
  EXPECT_NEAR(r.gate[0], sigmoid(-std::sqrt(2.0)), 1e-7);
}

TEST(EngramGate, SimilarityBelowAMillionthCountsAsAMillionth) {
  EXPECT_NEAR(run({.h = {2}, .kv = {3, 0}, .q = {1e-8f}}).gate[0], sigmoid(1e-3), 1e-7);
  EXPECT_NEAR(run({.h = {2}, .kv = {-3, 0}, .q = {1e-8f}}).gate[0], sigmoid(-1e-3), 1e-7);
  EXPECT_NEAR(run({.h = {2}, .kv = {3, 0}, .q = {4e-6f}}).gate[0], sigmoid(2e-3), 1e-7);
}

TEST(EngramGate, SimilarityOfExactlyZeroGivesAHalf) {
  EXPECT_EQ(run({.dim = 2, .h = {1, 1}, .kv = {1, -1, 0, 0}}).gate[0], 0.5f);
  EXPECT_EQ(run({.h = {0}, .kv = {1, 4}}).gate[0], 0.5f);  // a stream of zeros: no 0/0
  EXPECT_EQ(run({.h = {1}, .kv = {0, 4}}).out[0], 3.0f);   // a key of zeros
}

TEST(EngramGate, EpsStandsUnderBothRoots) {
  // dot 1, over √(1 + 3) twice: ¼.
  EXPECT_NEAR(run({.h = {1}, .kv = {1, 0}, .eps = 3.0f}).gate[0], sigmoid(0.5), 1e-7);
}

TEST(EngramGate, BothWeightsOfEachCopyCount) {
  const Case c{.copies = 2, .h = {1, 1}, .kv = {1, 1, 0}, .q = {2, 3}, .k = {8, 12}};
  const Result r = run(c);
  EXPECT_NEAR(r.gate[0], sigmoid(4), 1e-7);
  EXPECT_NEAR(r.gate[1], sigmoid(6), 1e-7);
}

TEST(EngramGate, ProductOfTheWeightsIsAnF32) {
  // 10^-60 is 0 in f32, so the similarity is exactly 0; in double it would count as a millionth.
  EXPECT_EQ(run({.h = {1}, .kv = {1, 0}, .q = {1e-30f}, .k = {1e-30f}}).gate[0], 0.5f);
}

TEST(EngramGate, KeysComeBeforeTheOneValueOfAllCopies) {
  // Copy 0 agrees with its key, copy 1 contradicts: σ(4) and σ(-4) of the value 100.
  const Result r = run({.copies = 2, .h = {1, 1}, .kv = {16, -16, 100}, .q = {16, 16}});
  EXPECT_NEAR(r.out[0], 1 + 100 * sigmoid(4), 1e-4);
  EXPECT_NEAR(r.out[1], 1 + 100 * sigmoid(-4), 1e-4);
}

TEST(EngramGate, ImageRowsKeepTheirBitsAndTheirGateIsZero) {
  const float inf = std::numeric_limits<float>::infinity();
  for (DType type : {DType::bf16, DType::f32}) {
    const Result r = run({.type = type, .h = {-0.0f, 1, 1}, .kv = {1, 5, 1, inf, 1, 4}, .image = {1, 1, 0}});
    EXPECT_TRUE(same_bits(std::span(r.gate).first(2), std::vector<float>{0, 0}));
    EXPECT_TRUE(same_bits(std::span(r.out).first(2), std::vector<float>{-0.0f, 1}));
    EXPECT_GT(r.gate[2], 0.7f);
    EXPECT_GT(r.out[2], 3.5f);
  }
}

TEST(EngramGate, RoundsTheStreamOnceAtTheStore) {
  // Gate ½ (zero key) of 3·2^-8 is 1.5 half steps of bf16 at 1: rounds up. The gated value alone is exact.
  EXPECT_EQ(run({.type = DType::bf16, .h = {1}, .kv = {0, 0x3p-8f}}).out[0], 1 + 0x1p-7f);
  EXPECT_EQ(run({.type = DType::bf16, .h = {1}, .kv = {0, 0x1p-7f}}).out[0], 1.0f);  // a tie goes to even
}

TEST(EngramGate, OutMayBeTheStreamItself) {
  Case c{.type = DType::bf16, .copies = 4, .dim = 9, .h = noise(2 * 36, 1), .kv = noise(2 * 45, 2)};
  const Result apart = run(c);
  c.in_place = true;
  const Result same = run(c);
  EXPECT_TRUE(same_bits(same.out, apart.out));
  EXPECT_TRUE(same_bits(same.gate, apart.gate));
}

TEST(EngramGate, NoRowsIsNoWork) { EXPECT_TRUE(run({.h = {}, .kv = {}}).out.empty()); }

TEST(EngramGate, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 4, copies = 4, dim = 15;
  const std::vector<float> h = noise(rows * copies * dim, 3), kv = noise(rows * (copies + 1) * dim, 4);
  const std::vector<float> q = noise(copies * dim, 5), k = noise(copies * dim, 6);
  const std::vector<std::uint8_t> image = {0, 1, 0, 0};
  for (auto part : {&Result::gate, &Result::out}) {
    EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
      const auto ah = h.begin() + first * copies * dim, akv = kv.begin() + first * (copies + 1) * dim;
      return run({DType::bf16, copies, dim, std::vector(ah, ah + n * copies * dim),
                  std::vector(akv, akv + n * (copies + 1) * dim), q, k,
                  std::vector(image.begin() + first, image.begin() + first + n)}).*
             part;
    }));
  }
}

}  // namespace
}  // namespace cachalot
