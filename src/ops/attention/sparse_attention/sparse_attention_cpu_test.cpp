// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attention/sparse_attention/sparse_attention.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// One sequence in the released formats.
struct Source {
  StoredRows ring, own, groups;
  StoredPages pages;

  Source(std::int64_t dim, std::int64_t ring_rows, std::int64_t own_rows, std::int64_t group_rows, Random& random,
         float size = 1)
      : ring(RowFormat::e4m3_e8m0_32, dim, random_floats(ring_rows * dim, random, size)),
        own(RowFormat::e4m3_e8m0_32, dim, random_floats(own_rows * dim, random, size)),
        groups(RowFormat::e2m1_e4m3_16, dim, random_floats(group_rows * dim, random, size)),
        pages(groups, 5) {}
  AttentionSource view() const { return {ring.rows, own.rows, pages.rows}; }
  std::int64_t slots() const { return ring.rows.rows + own.rows.rows + groups.rows.rows; }
};

struct Case {
  Tensor<3> q;
  std::vector<AttentionSource> source;
  Array<std::int32_t, 1> sequence;
  Array<std::int32_t, 2> slot;
  Array<float, 1> sink;
  float scale;
  bool round;

  // Random rows; about one entry in `holes` lists nothing, and each row ends with a tail of nothing.
  Case(std::int64_t rows, std::int64_t heads, std::int64_t dim, std::int64_t listed,
       const std::vector<const Source*>& from, DType q_type, std::int64_t holes, bool round_probabilities,
       Random& random)
      : q(q_type, {rows, heads, dim}, random, 2),
        sequence({rows}),
        slot({rows, listed}, -1),
        sink({heads}),
        scale(1 / std::sqrt(static_cast<float>(dim))),
        round(round_probabilities) {
    for (const Source* s : from) source.push_back(s->view());
    for (float& s : sink.at) s = 4 * random.real();
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t s = random.below(static_cast<std::int64_t>(from.size()));
      sequence.at[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(s);
      const std::int64_t end = random.below(3) == 0 ? random.below(listed + 1) : listed;
      for (std::int64_t j = 0; j < end; ++j) {
        if (holes == 0 || random.below(holes) != 0) {
          slot.view()[r][j] = static_cast<std::int32_t>(random.below(from[static_cast<std::size_t>(s)]->slots()));
        }
      }
    }
  }

  template <class Operator>
  std::vector<float> run(Operator op, Context& context, DType type, std::int64_t first, std::int64_t n) {
    Tensor<3> out(type, {n, q.shape[1], q.shape[2]});
    for (std::byte& b : out.bytes) b = std::byte{0x3F};
    op(context, {ConstValues<3>(q).part(first, n), source, sequence.view().part(first, n), slot.view().part(first, n),
                 sink, scale, round, out});
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
          const Source one(dim, ring, own, groups, random);
          const Source two(dim, 3, 1, 0, random);
          const std::int64_t rows = 1 + random.below(5), heads = 1 + random.below(11), holes = random.below(5);
          Case c(rows, heads, dim, listed, {&one, &two}, type, holes, round, random);
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
  const Source s(512, 144, 3, 700, random);
  for (const bool round : {false, true}) {
    Agreement agreement;
    for (const std::int64_t rows : {1, 3}) {
      Case c(rows, 64, 512, 640, {&s}, DType::bf16, 0, round, random);
      agreement.add(sparse_attention_ref, sparse_attention_cpu,
                    [&](auto op, Context& context) { return c.run(op, context, DType::bf16, 0, rows); });
    }
    expect_bf16_agrees(agreement, 2, round ? 0.005 : 0.002);
  }
}

TEST(SparseAttentionCpu, LargeValuesLoseNothing) {
  Random random(9);
  const Source s(512, 144, 3, 700, random, 64);
  // Many slots share, or one takes nearly all: the largest scores are above 128 then, where an f32 has steps of 1.5e-5,
  // and e^x carries a step on.
  for (const auto& [spread, error] : {std::pair{1 / 64.0f, 2e-6}, std::pair{1.0f, 3e-5}}) {
    Agreement agreement;
    Case c(3, 8, 512, 640, {&s}, DType::f32, 5, false, random);
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
    StoredRows ring(RowFormat::f32, dim, random_floats(9 * dim, random));
    const Source shape(32, 9, 0, 0, random);
    Case c(2, 3, dim, 12, {&shape}, DType::f32, 3, false, random);
    c.source = {{ring.rows, PackedRows{}, PagedRows{}}};
    agreement.add(sparse_attention_ref, sparse_attention_cpu,
                  [&](auto op, Context& context) { return c.run(op, context, DType::f32, 0, 2); });
  }
  expect_f32_agrees(agreement);
}

TEST(SparseAttentionCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  const Source one(96, 16, 4, 30, random);
  const Source two(96, 16, 1, 9, random);
  for (const bool round : {false, true}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Case c(7, 5, 96, 150, {&one, &two}, type, 4, round, random);
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
  const Source s(64, 4, 0, 0, random);
  for (const std::int64_t listed : {0, 1, 64, 65}) {
    Case c(2, 2, 64, listed, {&s}, DType::bf16, 1, true, random);
    std::ranges::fill(c.slot.at, -1);
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
  const Source s(64, 5, 3, 7, random);
  for (std::int32_t at = 0; at < 15; ++at) {
    Case c(1, 1, 64, 2, {&s}, DType::bf16, 0, true, random);
    c.sink.at = {-infinity};
    c.slot.at = {-1, at};
    const auto want = at < 5 ? s.ring.row(at) : at < 8 ? s.own.row(at - 5) : s.groups.row(at - 8);
    Context context;
    EXPECT_EQ(c.run(sparse_attention_cpu, context, DType::f32, 0, 1), want) << at;
  }
}

// Slots of width 1 and q = 1: a slot's value is its score. Far apart, far below zero, and a sink far above all.
TEST(SparseAttentionCpu, HugeScoresAndSinksStayFinite) {
  Random random(7);
  const Source shape(32, 3, 0, 0, random);
  StoredRows ring(RowFormat::f32, 1, {3000, 2990, -3000});
  Case c(1, 1, 1, 3, {&shape}, DType::f32, 0, false, random);
  c.source = {{ring.rows, PackedRows{}, PagedRows{}}};
  c.q.set(0, 1);
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    Context context;
    const auto y = [&](std::vector<std::int32_t> list, float sink) {
      c.slot.at = std::move(list);
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
  const Source s(32, 4, 0, 0, random);
  for (int threads = 1; threads <= 2; ++threads) {
    Case c(1, 7, 32, 70, {&s}, DType::f32, 0, true, random);
    c.slot.view()[0][0] = 1;
    c.q.set(3 * 32 + 5, std::nan(""));
    Context context(threads);
    const auto y = c.run(sparse_attention_cpu, context, DType::bf16, 0, 1);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 32 == 3) << i;
  }
}

}  // namespace
}  // namespace cachalot
