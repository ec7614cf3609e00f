// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/gate/gate.h"

#include <cmath>
#include <limits>

#include "ops/test_backends.h"

namespace cachalot::engram_gate_test {
namespace {

using EngramGate = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, EngramGate, each_backend(), place_name);

struct Case {
  DType type = DType::f32;
  std::int64_t copies = 1, dim = 1;
  std::vector<float> h;               // [rows, copies, dim]
  std::vector<float> kv;              // [rows, (copies + 1) · dim]
  std::vector<float> q = {}, k = {};  // [copies, dim]; none: all 1
  std::vector<std::uint8_t> image = {};
  float eps = 1e-20f;
};

struct Result {
  std::vector<float> gate, out;
};

Result run(const On& on, Case c) {
  const std::int64_t width = c.copies * c.dim, rows = static_cast<std::int64_t>(c.h.size()) / width;
  for (auto* weight : {&c.q, &c.k}) {
    if (weight->empty()) weight->assign(static_cast<std::size_t>(width), 1);
  }
  if (c.image.empty()) c.image.assign(c.h.size(), 0);
  const Tensor<2> kv(c.type, {rows, width + c.dim}, c.kv);
  const Tensor<2> q(DType::f32, {c.copies, c.dim}, c.q), k(DType::f32, {c.copies, c.dim}, c.k);
  Tensor<3> h(c.type, {rows, c.copies, c.dim}, c.h), out(c.type, {rows, c.copies, c.dim});
  Result r{std::vector<float>(static_cast<std::size_t>(rows * c.copies), -1), {}};
  on(&Backend::engram_gate, {.h = h.values(),
                             .kv = kv.values(),
                             .q_weight = q.values(),
                             .k_weight = k.values(),
                             .eps = c.eps,
                             .image = {c.image.data(), {rows}},
                             .gate = {r.gate.data(), {rows, c.copies}},
                             .out = out.values()});
  r.out = floats(out);
  return r;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(EngramGate, IsTheSigmoidOfTheRootOfTheSimilarity) {
  // h and key both (1, 1, 1, 1): dot 4, root mean squares 1, over √4: 2.
  const Result r = run(on, {.dim = 4, .h = {1, 1, 1, 1}, .kv = {1, 1, 1, 1, 10, 20, 30, 40}});
  EXPECT_NEAR(r.gate[0], sigmoid(std::sqrt(2.0)), 1e-7);
  for (std::size_t d = 0; d < 4; ++d) EXPECT_FLOAT_EQ(r.out[d], 1 + r.gate[0] * 10 * static_cast<float>(d + 1));
}

TEST_P(EngramGate, SizeOfTheStreamAndOfTheKeyDropsOut) {
  const Result r = run(on, {.dim = 2, .h = {3, 3}, .kv = {500, 500, 0, 0}});
  EXPECT_NEAR(r.gate[0], sigmoid(std::pow(2.0, 0.25)), 1e-7);  // 2 / √2, then its root
}

TEST_P(EngramGate, NegativeSimilarityKeepsItsSign) {
  const Result r = run(on, {.dim = 4, .h = {1, 1, 1, 1}, .kv = {-1, -1, -1, -1, 0, 0, 0, 0}});
  EXPECT_NEAR(r.gate[0], sigmoid(-std::sqrt(2.0)), 1e-7);
}

TEST_P(EngramGate, SimilarityBelowAMillionthCountsAsAMillionth) {
  EXPECT_NEAR(run(on, {.h = {2}, .kv = {3, 0}, .q = {1e-8f}}).gate[0], sigmoid(1e-3), 1e-7);
  EXPECT_NEAR(run(on, {.h = {2}, .kv = {-3, 0}, .q = {1e-8f}}).gate[0], sigmoid(-1e-3), 1e-7);
  EXPECT_NEAR(run(on, {.h = {2}, .kv = {3, 0}, .q = {4e-6f}}).gate[0], sigmoid(2e-3), 1e-7);
}

TEST_P(EngramGate, SimilarityOfExactlyZeroGivesAHalf) {
  EXPECT_EQ(run(on, {.dim = 2, .h = {1, 1}, .kv = {1, -1, 0, 0}}).gate[0], 0.5f);
  EXPECT_EQ(run(on, {.h = {0}, .kv = {1, 4}}).gate[0], 0.5f);  // a stream of zeros: no 0/0
  EXPECT_EQ(run(on, {.h = {1}, .kv = {0, 4}}).out[0], 3.0f);   // a key of zeros
  EXPECT_EQ(run(on, {.dim = 20, .h = noise(20, 7), .kv = std::vector<float>(40)}).gate[0], 0.5f);
}

TEST_P(EngramGate, EpsStandsUnderBothRoots) {
  // dot 1, over √(1 + 3) twice: ¼.
  EXPECT_NEAR(run(on, {.h = {1}, .kv = {1, 0}, .eps = 3.0f}).gate[0], sigmoid(0.5), 1e-7);
}

TEST_P(EngramGate, BothWeightsOfEachCopyCount) {
  const Case c{.copies = 2, .h = {1, 1}, .kv = {1, 1, 0}, .q = {2, 3}, .k = {8, 12}};
  const Result r = run(on, c);
  EXPECT_NEAR(r.gate[0], sigmoid(4), 1e-7);
  EXPECT_NEAR(r.gate[1], sigmoid(6), 1e-7);
}

TEST_P(EngramGate, ProductOfTheWeightsIsAnF32) {
  // 10^-60 is 0 in f32, so the similarity is exactly 0; in double it would count as a millionth.
  EXPECT_EQ(run(on, {.h = {1}, .kv = {1, 0}, .q = {1e-30f}, .k = {1e-30f}}).gate[0], 0.5f);
}

TEST_P(EngramGate, KeysComeBeforeTheOneValueOfAllCopies) {
  // Copy 0 agrees with its key, copy 1 contradicts: σ(4) and σ(-4) of the value 100.
  const Result r = run(on, {.copies = 2, .h = {1, 1}, .kv = {16, -16, 100}, .q = {16, 16}});
  EXPECT_NEAR(r.out[0], 1 + 100 * sigmoid(4), 1e-4);
  EXPECT_NEAR(r.out[1], 1 + 100 * sigmoid(-4), 1e-4);
}

TEST_P(EngramGate, ImageRowsKeepTheirBitsAndTheirGateIsZero) {
  const float inf = std::numeric_limits<float>::infinity();
  for (DType type : {DType::bf16, DType::f32}) {
    const Result r = run(on, {.type = type, .h = {-0.0f, 1, 1}, .kv = {1, 5, 1, inf, 1, 4}, .image = {1, 1, 0}});
    EXPECT_TRUE(same_bits(std::span(r.gate).first(2), std::vector<float>{0, 0}));
    EXPECT_TRUE(same_bits(std::span(r.out).first(2), std::vector<float>{-0.0f, 1}));
    EXPECT_GT(r.gate[2], 0.7f);
    EXPECT_GT(r.out[2], 3.5f);
  }
}

TEST_P(EngramGate, RoundsTheStreamOnceAtTheStore) {
  // Gate ½ (zero key) of 3·2^-8 is 1.5 half steps of bf16 at 1: rounds up. The gated value alone is exact.
  EXPECT_EQ(run(on, {.type = DType::bf16, .h = {1}, .kv = {0, 0x3p-8f}}).out[0], 1 + 0x1p-7f);
  EXPECT_EQ(run(on, {.type = DType::bf16, .h = {1}, .kv = {0, 0x1p-7f}}).out[0], 1.0f);  // a tie goes to even
}

TEST_P(EngramGate, NoRowsIsNoWork) { EXPECT_TRUE(run(on, {.h = {}, .kv = {}}).out.empty()); }

struct RandomCase {
  Tensor<3> h;
  Tensor<2> kv, q_weight, k_weight;
  Array<std::uint8_t, 1> image;

  RandomCase(DType type, DType weight_type, std::int64_t rows, std::int64_t copies, std::int64_t dim, Random& random)
      : h(type, {rows, copies, dim}, random),
        kv(type, {rows, (copies + 1) * dim}, random),
        q_weight(weight_type, {copies, dim}, random),
        k_weight(weight_type, {copies, dim}, random),
        image({rows}) {
    for (std::int64_t r = 2; r < rows; r += 3) image.at[static_cast<std::size_t>(r)] = 1;
  }
  // The gates, then the streams.
  std::vector<float> run(const On& on, std::int64_t first, std::int64_t n) {
    Array<float, 2> gate({n, h.shape[1]});
    Tensor<3> out(h.type, {n, h.shape[1], h.shape[2]});
    on(&Backend::engram_gate, {h.values().part(first, n), kv.values().part(first, n), q_weight, k_weight, 1e-20f,
                               image.view().part(first, n), gate, out});
    streams = floats(out);
    return gate.at;
  }
  std::vector<float> streams;
};

TEST(EngramGateAgreement, AtEverySizeAndType) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement gates, streams;
    for (const DType weight_type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            RandomCase c(type, weight_type, rows, copies, dim, random);
            gates.add([&](const On& on) { return c.run(on, 0, rows); });
            streams.add([&](const On& on) {
              c.run(on, 0, rows);
              return c.streams;
            });
          }
        }
      }
    }
    expect_f32_agrees(gates, 1e-6);
    expect_agrees(streams, type);
  }
}

TEST_P(EngramGate, ImageRowsAmongOthersKeepTheirBits) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    RandomCase c(type, DType::bf16, 3, 2, 19, random);
    c.image.at = {1, 0, 1};
    c.h.set(0, -0.0);
    c.kv.set(2 * 19 + 4, std::numeric_limits<double>::infinity());  // the value of row 0
    const std::vector<float> gate = c.run(on.with_threads(2), 0, 3), before = floats(c.h);
    for (std::size_t i : {0u, 1u, 4u, 5u}) EXPECT_EQ(gate[i], 0);
    for (std::size_t row : {0u, 2u}) {
      EXPECT_TRUE(same_bits(std::span(c.streams).subspan(row * 38, 38), std::span(before).subspan(row * 38, 38)));
    }
  }
}

TEST_P(EngramGate, OutMayBeTheStreamItself) {
  Random random(5);
  for (const std::int64_t dim : {9, 45}) {
    RandomCase c(DType::bf16, DType::bf16, 6, 4, dim, random);
    const std::vector<float> apart = c.run(on.with_threads(2), 0, 6);
    Array<float, 2> gate({6, 4});
    on.with_threads(2)(&Backend::engram_gate, {c.h, c.kv, c.q_weight, c.k_weight, 1e-20f, c.image, gate, c.h});
    EXPECT_TRUE(same_bits(gate.at, apart));
    EXPECT_TRUE(same_bits(floats(c.h), c.streams));
  }
}

TEST_P(EngramGate, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(6);
  for (const std::int64_t dim : {15, 35}) {
    RandomCase c(DType::bf16, dim == 15 ? DType::f32 : DType::bf16, 7, 4, dim, random);
    for (const bool of_gates : {true, false}) {
      EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
        const auto gates = c.run(on.with_threads(2), first, n);
        return of_gates ? gates : c.streams;
      }));
    }
  }
}

}  // namespace
}  // namespace cachalot::engram_gate_test
