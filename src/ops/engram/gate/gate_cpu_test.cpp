// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/engram/gate/gate.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

struct Case {
  Tensor<3> h;
  Tensor<2> kv, q_weight, k_weight;
  Array<std::uint8_t, 1> image;

  Case(DType type, DType weight_type, std::int64_t rows, std::int64_t copies, std::int64_t dim, Random& random)
      : h(type, {rows, copies, dim}, random),
        kv(type, {rows, (copies + 1) * dim}, random),
        q_weight(weight_type, {copies, dim}, random),
        k_weight(weight_type, {copies, dim}, random),
        image({rows}) {
    for (std::int64_t r = 2; r < rows; r += 3) image.at[static_cast<std::size_t>(r)] = 1;
  }
  // The gates, then the streams.
  std::vector<float> run(void (*op)(Context&, const EngramGateArgs&), Context& context, std::int64_t first,
                         std::int64_t n) {
    Array<float, 2> gate({n, h.shape[1]});
    Tensor<3> out(h.type, {n, h.shape[1], h.shape[2]});
    op(context, {h.values().part(first, n), kv.values().part(first, n), q_weight, k_weight, 1e-20f,
                 image.view().part(first, n), gate, out});
    streams = floats(out);
    return gate.at;
  }
  std::vector<float> streams;
};

TEST(EngramGateCpu, AgreesWithTheReference) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement gates, streams;
    for (const DType weight_type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1280}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            Case c(type, weight_type, rows, copies, dim, random);
            gates.add(engram_gate_ref, engram_gate_cpu,
                      [&](auto op, Context& context) { return c.run(op, context, 0, rows); });
            streams.add(engram_gate_ref, engram_gate_cpu, [&](auto op, Context& context) {
              c.run(op, context, 0, rows);
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

TEST(EngramGateCpu, SimilarityOfExactlyZeroGivesAHalf) {
  Random random(2);
  Case c(DType::f32, DType::f32, 1, 1, 20, random);
  for (std::int64_t d = 0; d < 20; ++d) c.kv.set(d, 0);
  Context context;
  EXPECT_EQ(c.run(engram_gate_cpu, context, 0, 1), (std::vector<float>{0.5f}));
}

TEST(EngramGateCpu, SmallSimilarityCountsAsAMillionthWithItsSign) {
  Random random(3);
  Case c(DType::f32, DType::f32, 1, 1, 1, random);
  c.q_weight.set(0, 1e-8);
  c.k_weight.set(0, 1);
  c.h.set(0, 2);
  for (const double key : {3.0, -3.0}) {
    c.kv.set(0, key);
    Context context;
    EXPECT_NEAR(c.run(engram_gate_cpu, context, 0, 1)[0], 1 / (1 + std::exp(key > 0 ? -1e-3 : 1e-3)), 1e-7);
  }
}

TEST(EngramGateCpu, ImageRowsKeepTheirBitsAndTheirGateIsZero) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    Case c(type, DType::bf16, 3, 2, 19, random);
    c.image.at = {1, 0, 1};
    c.h.set(0, -0.0);
    c.kv.set(2 * 19 + 4, std::numeric_limits<double>::infinity());  // the value of row 0
    Context context(2);
    const std::vector<float> gate = c.run(engram_gate_cpu, context, 0, 3), before = floats(c.h);
    for (std::size_t i : {0u, 1u, 4u, 5u}) EXPECT_EQ(gate[i], 0);
    for (std::size_t row : {0u, 2u}) {
      EXPECT_TRUE(same_bits(std::span(c.streams).subspan(row * 38, 38), std::span(before).subspan(row * 38, 38)));
    }
  }
}

TEST(EngramGateCpu, OutMayBeTheStreamItself) {
  Random random(5);
  Case c(DType::bf16, DType::bf16, 6, 4, 45, random);
  Context context(2);
  const std::vector<float> apart = c.run(engram_gate_cpu, context, 0, 6);
  Array<float, 2> gate({6, 4});
  engram_gate_cpu(context, {c.h, c.kv, c.q_weight, c.k_weight, 1e-20f, c.image, gate, c.h});
  EXPECT_TRUE(same_bits(gate.at, apart));
  EXPECT_TRUE(same_bits(floats(c.h), c.streams));
}

TEST(EngramGateCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(6);
  Case c(DType::bf16, DType::bf16, 7, 4, 35, random);
  for (const bool of_gates : {true, false}) {
    EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      const auto gates = c.run(engram_gate_cpu, context, first, n);
      return of_gates ? gates : c.streams;
    }));
  }
}

}  // namespace
}  // namespace cachalot
