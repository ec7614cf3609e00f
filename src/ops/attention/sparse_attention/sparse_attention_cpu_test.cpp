// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/test_agreement.h"
#include "ops/test_attention_sources.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Case {
  Tensor<3> q;
  const AttentionSources& source;
  Array<std::int32_t, 1> sequence;
  std::vector<std::vector<std::int32_t>> slot;
  Array<float, 1> sink;
  float scale;
  bool round;

  // Random rows; about one entry in `holes` lists nothing, and some rows end with a tail of nothing.
  Case(std::int64_t rows, std::int64_t heads, std::int64_t dim, std::int64_t listed, const AttentionSources& from,
       DType q_type, std::int64_t holes, bool round_probabilities, Random& random)
      : q(q_type, {rows, heads, dim}, random, 2),
        source(from),
        sequence({rows}),
        slot(static_cast<std::size_t>(rows), std::vector<std::int32_t>(static_cast<std::size_t>(listed), -1)),
        sink({heads}),
        scale(1 / std::sqrt(static_cast<float>(dim))),
        round(round_probabilities) {
    for (float& s : sink.at) s = 4 * random.real();
    for (std::size_t r = 0; r < slot.size(); ++r) {
      const std::int64_t s = random.below(std::ssize(from.rows));
      sequence.at[r] = static_cast<std::int32_t>(s);
      const std::int64_t end = random.below(3) == 0 ? random.below(listed + 1) : listed;
      for (std::int64_t j = 0; j < end; ++j) {
        if (holes == 0 || random.below(holes) != 0) {
          slot[r][static_cast<std::size_t>(j)] =
              static_cast<std::int32_t>(random.below(from.rows[static_cast<std::size_t>(s)].all()));
        }
      }
    }
  }

  template <class Operator>
  std::vector<float> run(Operator op, Context& context, DType type, std::int64_t first, std::int64_t n) {
    const std::int64_t listed = std::ssize(slot[0]);
    Array<std::int32_t, 2> window({n, listed}), group({n, listed});
    for (std::int64_t r = 0; r < n; ++r) {
      source.split(sequence.view()[first + r], slot[static_cast<std::size_t>(first + r)], window.view()[r],
                   group.view()[r]);
    }
    Tensor<3> out(type, {n, q.shape[1], q.shape[2]});
    for (std::byte& b : out.bytes) b = std::byte{0x3F};
    op(context, {ConstValues<3>(q).part(first, n), source.own.rows, source.ring, window, source.groups.rows, group,
                 sequence.view().part(first, n), sink, scale, round, out});
    return floats(out);
  }
};

TEST(SparseAttentionCpu, AgreesWithTheReferenceAtEveryShape) {
  for (const bool round : {false, true}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Random random(1);
      Agreement agreement;
      for (const std::int64_t listed : {0, 1, 7, 8, 9, 15, 63, 64, 65, 130, 200}) {
        for (int round_trip = 0; round_trip < 3; ++round_trip) {
          const std::int64_t dim = 32 * (1 + random.below(5));
          const std::int64_t ring = 1 + random.below(30), own = random.below(4), groups = random.below(60);
          const AttentionSources s(dim, {{ring, own, groups}, {3, 1, 0}}, random);
          const std::int64_t rows = 1 + random.below(5), heads = 1 + random.below(11), holes = random.below(5);
          Case c(rows, heads, dim, listed, s, type, holes, round, random);
          agreement.add(sparse_attention_ref, sparse_attention_cpu,
                        [&](auto op, Context& context) { return c.run(op, context, type, 0, c.q.shape[0]); });
        }
      }
      if (type == DType::bf16) {
        expect_bf16_agrees(agreement, 2, round ? 0.005 : 0.002);
      } else {
        expect_f32_agrees(agreement, round ? 2e-2 : 2e-6);  // a probability may round to its other neighbour
      }
    }
  }
}

TEST(SparseAttentionCpu, AgreesWithTheReferenceAtTheModelsSize) {
  Random random(2);
  const AttentionSources s(512, {{144, 3, 700}}, random);
  for (const bool round : {false, true}) {
    Agreement agreement;
    for (const std::int64_t rows : {1, 3}) {
      Case c(rows, 64, 512, 640, s, DType::bf16, 0, round, random);
      agreement.add(sparse_attention_ref, sparse_attention_cpu,
                    [&](auto op, Context& context) { return c.run(op, context, DType::bf16, 0, rows); });
    }
    expect_bf16_agrees(agreement, 2, round ? 0.005 : 0.002);
  }
}

TEST(SparseAttentionCpu, LargeValuesLoseNothing) {
  Random random(9);
  const AttentionSources s(512, {{144, 3, 700}}, random, false, 64);
  // Many slots share, or one takes nearly all: the largest scores are above 128 then, where an f32 has steps of 1.5e-5,
  // and e^x carries a step on.
  for (const auto& [spread, error] : {std::pair{1 / 64.0f, 2e-6}, std::pair{1.0f, 3e-5}}) {
    Agreement agreement;
    Case c(3, 8, 512, 640, s, DType::f32, 5, false, random);
    c.scale *= spread;
    agreement.add(sparse_attention_ref, sparse_attention_cpu,
                  [&](auto op, Context& context) { return c.run(op, context, DType::f32, 0, 3); });
    expect_f32_agrees(agreement, error);
  }
}

TEST(SparseAttentionCpu, TakesWidthsThatFillNoRegister) {
  Random random(3);
  Agreement agreement;
  for (const std::int64_t dim : {1, 3, 17, 40}) {
    const AttentionSources s(dim, {{9, 2, 3}}, random, true);
    Case c(2, 3, dim, 12, s, DType::f32, 3, false, random);
    agreement.add(sparse_attention_ref, sparse_attention_cpu,
                  [&](auto op, Context& context) { return c.run(op, context, DType::f32, 0, 2); });
  }
  expect_f32_agrees(agreement);
}

TEST(SparseAttentionCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  const AttentionSources both(96, {{16, 4, 30}, {16, 1, 9}}, random);
  for (const bool round : {false, true}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Case c(7, 5, 96, 150, both, type, 4, round, random);
      for (int threads = 1; threads <= 4; ++threads) {
        EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
          Context context(threads);
          return c.run(sparse_attention_cpu, context, type, first, n);
        }));
      }
    }
  }
}

TEST(SparseAttentionCpu, RowThatListsNothingGivesZeros) {
  Random random(5);
  const AttentionSources s(64, {{4, 0, 0}}, random);
  for (const std::int64_t listed : {0, 1, 64, 65}) {
    Case c(2, 2, 64, listed, s, DType::bf16, 1, true, random);
    for (auto& list : c.slot) std::ranges::fill(list, -1);
    for (const float sink : {0.0f, 80.0f, -80.0f, -infinity}) {
      for (int threads = 1; threads <= 4; ++threads) {
        std::ranges::fill(c.sink.at, sink);
        Context context(threads);
        for (const float v : c.run(sparse_attention_cpu, context, DType::bf16, 0, 2)) ASSERT_EQ(v, 0) << sink;
      }
    }
  }
}

TEST(SparseAttentionCpu, OneSlotWithoutSinkReturnsItsVector) {
  Random random(6);
  const AttentionSources s(64, {{5, 3, 7}}, random);
  for (std::int32_t at = 0; at < 15; ++at) {
    Case c(1, 1, 64, 2, s, DType::bf16, 0, true, random);
    c.sink.at = {-infinity};
    c.slot = {{-1, at}};
    Context context;
    EXPECT_EQ(c.run(sparse_attention_cpu, context, DType::f32, 0, 1), s.slot(0, at)) << at;
  }
}

// Slots of width 1 and q = 1: a slot's value is its score. Far apart, far below zero, and a sink far above all.
TEST(SparseAttentionCpu, HugeScoresAndSinksStayFinite) {
  Random random(7);
  AttentionSources s(1, {{3, 0, 0}}, random, true);
  const float scores[] = {3000, 2990, -3000};
  std::memcpy(s.ring.codes, scores, sizeof scores);
  Case c(1, 1, 1, 3, s, DType::f32, 0, false, random);
  c.q.set(0, 1);
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    Context context;
    const auto y = [&](std::vector<std::int32_t> list, float sink) {
      c.slot = {std::move(list)};
      c.sink.at = {sink};
      return c.run(sparse_attention_cpu, context, DType::f32, 0, 1)[0];
    };
    EXPECT_EQ(y({2, 1, 0}, -infinity), 3000);
    EXPECT_EQ(y({2, -1, -1}, -infinity), -3000);
    EXPECT_EQ(y({2, -1, -1}, 0), 0);
    EXPECT_EQ(y({0, 1, 2}, 1e6f), 0);
  }
}

TEST(SparseAttentionCpu, NanStaysInItsHead) {
  Random random(8);
  const AttentionSources s(32, {{4, 0, 0}}, random);
  for (int threads = 1; threads <= 2; ++threads) {
    Case c(1, 7, 32, 70, s, DType::f32, 0, true, random);
    c.slot[0][0] = 1;
    c.q.set(3 * 32 + 5, std::nan(""));
    Context context(threads);
    const auto y = c.run(sparse_attention_cpu, context, DType::bf16, 0, 1);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 32 == 3) << i;
  }
}

}  // namespace
}  // namespace cachalot
