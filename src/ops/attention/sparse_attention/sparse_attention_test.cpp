// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/sparse_attention/sparse_attention.h"

#include <cmath>
#include <limits>

#include "ops/test_attention_sources.h"
#include "ops/test_backends.h"

namespace cachalot::sparse_attention_test {
namespace {

using SparseAttention = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, SparseAttention, each_backend(), place_name);

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Case {
  Tensor<3> q;  // [rows, heads, dim]
  const AttentionSources& source;
  std::vector<std::int32_t> sequence;
  std::vector<std::vector<std::int32_t>> slot;
  std::vector<float> sink;
  float scale = 1;
  bool round = false;
};

Tensor<3> run(const On& on, Case c, DType type = DType::f32) {
  const std::int64_t rows = c.q.shape[0], listed = c.slot.empty() ? 0 : std::ssize(c.slot[0]);
  Array<std::int32_t, 1> sequence({rows}, c.sequence);
  Array<std::int32_t, 2> window({rows, listed}), group({rows, listed});
  for (std::int64_t r = 0; r < rows; ++r) {
    c.source.split(sequence.view()[r], c.slot[static_cast<std::size_t>(r)], window.view()[r], group.view()[r]);
  }
  const Array<float, 1> sink({c.q.shape[1]}, c.sink);
  Tensor<3> out(type, c.q.shape);
  for (std::byte& b : out.bytes) b = std::byte{0x3F};
  on(&Backend::sparse_attention, {c.q, c.source.own.rows, c.source.ring, window, c.source.groups.rows, group, sequence,
                                  sink, c.scale, c.round, out});
  return out;
}

std::vector<std::int32_t> random_list(std::int64_t listed, std::int64_t slots, Random& random) {
  std::vector<std::int32_t> list;
  for (std::int64_t i = 0; i < listed; ++i) {
    list.push_back(random.below(5) == 0 ? -1 : static_cast<std::int32_t>(random.below(slots)));
  }
  return list;
}

TEST_P(SparseAttention, RowThatListsNothingGivesZeros) {
  Random random(1);
  const AttentionSources s(64, {{4, 0, 0}}, random);
  for (const bool round : {false, true}) {
    for (const std::size_t listed : {0u, 1u, 64u, 65u}) {
      for (const float sink : {0.0f, 80.0f, -80.0f, -infinity}) {
        const std::vector<std::int32_t> nothing(listed, -1);
        const Case c{Tensor<3>(DType::bf16, {2, 2, 64}, random), s, {0, 0}, {nothing, nothing}, {sink, sink}, 1, round};
        for (int threads = 1; threads <= 4; ++threads) {
          for (const float y : floats(run(on.with_threads(threads), c, DType::bf16))) ASSERT_EQ(y, 0) << sink;
        }
      }
    }
  }
}

TEST_P(SparseAttention, OneSlotWithoutSinkReturnsItsVector) {
  Random random(2);
  const AttentionSources s(64, {{5, 3, 7}}, random);
  for (std::int32_t slot = 0; slot < 15; ++slot) {  // ring, own and every group, over three pages
    const Case c{Tensor<3>(DType::bf16, {1, 1, 64}, random), s, {0}, {{-1, slot}}, {-infinity}, 1, slot % 2 == 0};
    EXPECT_EQ(floats(run(on, c)), s.slot(0, slot)) << slot;
  }
}

// q = 0: each of three slots has weight 1, the sink weighs e^0 = 1 too, but brings no value.
TEST_P(SparseAttention, SinkTakesItsShareOfTheDenominatorAlone) {
  Random random(3);
  const AttentionSources s(32, {{3, 0, 0}}, random);
  Case c{Tensor<3>(DType::f32, {1, 2, 32}), s, {0}, {{0, 1, 2}}, {0, std::log(5.0f)}};
  const Tensor<3> y = run(on, c);
  for (std::size_t i = 0; i < 32; ++i) {
    const double sum = static_cast<double>(s.slot(0, 0)[i]) + s.slot(0, 1)[i] + s.slot(0, 2)[i];
    EXPECT_NEAR(y.get(static_cast<std::int64_t>(i)), sum / 4, 1e-7);
    EXPECT_NEAR(y.get(static_cast<std::int64_t>(32 + i)), sum / 8, 1e-7);
  }
}

// Written down straight from spec 3.5: no running maximum, no blocks, long double.
double expected(const AttentionSources& s, const Case& c, std::int64_t row, std::int64_t head, std::size_t i) {
  const auto dim = c.q.shape[2];
  std::vector<long double> score, value;
  for (const std::int32_t slot : c.slot[static_cast<std::size_t>(row)]) {
    if (slot < 0) continue;
    const auto kv = s.slot(0, slot);
    long double dot = 0;
    for (std::int64_t d = 0; d < dim; ++d) {
      dot += static_cast<long double>(c.q.get((row * c.q.shape[1] + head) * dim + d)) * kv[static_cast<std::size_t>(d)];
    }
    score.push_back(dot * c.scale);
    value.push_back(kv[i]);
  }
  if (score.empty()) return 0;
  const long double top = *std::ranges::max_element(score);
  long double sum = 0;
  long double weights = std::exp(c.sink[static_cast<std::size_t>(head)] - top);
  for (std::size_t j = 0; j < score.size(); ++j) {
    weights += std::exp(score[j] - top);
    sum += std::exp(score[j] - top) * value[j];
  }
  return static_cast<double>(sum / weights);
}

TEST_P(SparseAttention, MatchesTheFormulaAtEveryListLength) {
  Random random(4);
  const AttentionSources s(64, {{20, 3, 40}}, random);
  for (const std::int64_t listed : {1, 2, 63, 64, 65, 128, 200}) {
    Case c{Tensor<3>(DType::f32, {2, 3, 64}, random, 3), s, {0, 0}, {}, {0.5f, -2, 3}, 1 / std::sqrt(64.0f)};
    for (int row = 0; row < 2; ++row) c.slot.push_back(random_list(listed, 63, random));
    const Tensor<3> exact = run(on, c);
    c.round = true;
    const Tensor<3> rounded = run(on, c);
    for (std::int64_t at = 0; at < exact.size(); ++at) {
      const double want = expected(s, c, at / 192, at / 64 % 3, static_cast<std::size_t>(at % 64));
      ASSERT_NEAR(exact.get(at), want, 1e-6) << listed;
      ASSERT_NEAR(rounded.get(at), want, 1e-2) << listed;  // half a bf16 step per probability
    }
  }
}

TEST_P(SparseAttention, MatchesTheFormulaAtTheModelsSize) {
  Random random(5);
  const AttentionSources s(512, {{144, 1, 600}}, random);
  Case c{Tensor<3>(DType::bf16, {1, 64, 512}, random),
         s,
         {0},
         {random_list(640, 745, random)},
         random_floats(64, random, 4),
         1 / std::sqrt(512.0f)};
  const Tensor<3> y = run(on, c);
  for (const std::int64_t head : {0, 1, 31, 63}) {
    for (const std::size_t i : {0u, 255u, 511u}) {
      EXPECT_NEAR(y.get(head * 512 + static_cast<std::int64_t>(i)), expected(s, c, 0, head, i), 1e-6)
          << head << " " << i;
    }
  }
}

TEST_P(SparseAttention, LargeValuesLoseNothing) {
  Random random(13);
  const AttentionSources s(512, {{144, 1, 600}}, random, false, 64);
  for (const float spread : {1.0f, 1 / 64.0f}) {  // one slot takes nearly all, or many share
    Case c{Tensor<3>(DType::bf16, {1, 2, 512}, random),
           s,
           {0},
           {random_list(640, 745, random)},
           {0, 3},
           spread / std::sqrt(512.0f)};
    const Tensor<3> y = run(on, c);
    for (const std::int64_t at : {0, 255, 511, 512, 1023}) {
      const double want = expected(s, c, 0, at / 512, static_cast<std::size_t>(at % 512));
      EXPECT_NEAR(y.get(at), want, 64e-6) << spread << " " << at;
    }
  }
}

// Scores of f32 slots of width 1 are chosen: q = 1, the slot's value is its score. 0.3 below the maximum, e^-0.3 =
// 0.7408…, bf16 0.7421875.
Case scalar(const AttentionSources& s, std::vector<std::int32_t> list) {
  Case c{Tensor<3>(DType::f32, {1, 1, 1}), s, {0}, {std::move(list)}, {-infinity}, 1, true};
  c.q.set(0, 1);
  return c;
}

// A ring of them, and groups if there are any.
struct ScalarSource : AttentionSources {
  ScalarSource(std::vector<float> v, Random& random, std::vector<float> of_groups = {})
      : AttentionSources(1, {{std::ssize(v), 0, std::ssize(of_groups)}}, random, true) {
    std::memcpy(ring.codes, v.data(), 4 * v.size());
    for (std::int64_t g = 0; g < std::ssize(of_groups); ++g) {
      const std::int64_t row = groups.rows.row_of(0, g);
      std::memcpy(groups.memory.data() + (groups.rows.pool[row].codes - groups.memory.data()),
                  &of_groups[static_cast<std::size_t>(g)], 4);
    }
  }
};

TEST_P(SparseAttention, RoundedProbabilitiesAreInTheNumeratorOnly) {
  Random random(6);
  const ScalarSource s({1, 0.7f}, random);
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  EXPECT_NEAR(run(on, scalar(s, {0, 1})).get(0), (1 + to_float(to_bf16(p)) * 0.7) / (1 + p), 1e-7);
  Case exact = scalar(s, {0, 1});
  exact.round = false;
  EXPECT_NEAR(run(on, exact).get(0), (1 + p * 0.7) / (1 + p), 1e-7);
}

// The same two slots with the larger one 64 entries later: the smaller one's probability was 1 when it was rounded,
// and is scaled down unrounded. -1 entries count towards the 64.
TEST_P(SparseAttention, ProbabilitiesAreRoundedAgainstTheMaximumOfTheirBlockOf64) {
  Random random(7);
  const ScalarSource s({1, 0.7f}, random);
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  std::vector<std::int32_t> list(66, -1);
  list[63] = 1;
  list[64] = 0;
  const double in_two_blocks = (1 + p * 0.7) / (1 + p);
  EXPECT_NEAR(run(on, scalar(s, list)).get(0), in_two_blocks, 1e-7);
  std::swap(list[62], list[64]);  // both in the first block
  const double in_one_block = (1 + to_float(to_bf16(p)) * 0.7) / (1 + p);
  EXPECT_NEAR(run(on, scalar(s, list)).get(0), in_one_block, 1e-7);
  EXPECT_GT(std::abs(in_one_block - in_two_blocks), 1e-4);
}

// Groups follow the window's last entry: the -1s at its end are behind both and move no group into another block.
TEST_P(SparseAttention, GroupsFollowTheLastEntryOfTheWindow) {
  Random random(14);
  const ScalarSource s(std::vector<float>(63, -50.0f), random, {0.7f, 1});
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  std::vector<std::int32_t> list(80, -1);  // the window's: as long as the groups'
  for (std::int32_t i = 0; i < 63; ++i) list[static_cast<std::size_t>(i)] = i;
  list[63] = 63;  // the first group, entry 63 of the joined list
  list[64] = 64;  // the second, in the next block
  const double in_two_blocks = (1 + p * 0.7) / (1 + p);
  EXPECT_NEAR(run(on, scalar(s, list)).get(0), in_two_blocks, 1e-7);
  list[62] = -1;  // both are one entry earlier
  const double in_one_block = (1 + to_float(to_bf16(p)) * 0.7) / (1 + p);
  EXPECT_NEAR(run(on, scalar(s, list)).get(0), in_one_block, 1e-7);
  list[61] = -1;
  list[62] = 62;  // what is missing within the window counts
  EXPECT_NEAR(run(on, scalar(s, list)).get(0), in_two_blocks, 1e-7);
}

// The maximum starts at -1e30, not at 0: e^-150000 is no number, but among its equals it is the largest.
TEST_P(SparseAttention, ScoresFarBelowZeroStillCount) {
  Random random(12);
  const ScalarSource s({-3000, -3000.5f}, random);
  Case c = scalar(s, {1, 0});
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    EXPECT_NEAR(run(on, c).get(0), -3000, 1e-3);
  }
}

TEST_P(SparseAttention, ScaleMultipliesTheScore) {
  Random random(9);
  const ScalarSource s({0, 2}, random);
  Case c = scalar(s, {0, 1});
  c.round = false;
  c.scale = 0.5f;
  EXPECT_NEAR(run(on, c).get(0), 2 * std::exp(1.0) / (1 + std::exp(1.0)), 1e-6);
}

// Random rows; about one entry in `holes` lists nothing, and some rows end with a tail of nothing.
Case random_case(std::int64_t rows, std::int64_t heads, std::int64_t dim, std::int64_t listed,
                 const AttentionSources& from, DType q_type, std::int64_t holes, bool round, Random& random) {
  Case c{Tensor<3>(q_type, {rows, heads, dim}, random, 2), from, {}, {}, {},
         1 / std::sqrt(static_cast<float>(dim)),           round};
  c.sink = random_floats(heads, random, 4);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t s = random.below(std::ssize(from.rows));
    c.sequence.push_back(static_cast<std::int32_t>(s));
    std::vector<std::int32_t> list(static_cast<std::size_t>(listed), -1);
    const std::int64_t end = random.below(3) == 0 ? random.below(listed + 1) : listed;
    for (std::int64_t j = 0; j < end; ++j) {
      if (holes == 0 || random.below(holes) != 0) {
        list[static_cast<std::size_t>(j)] =
            static_cast<std::int32_t>(random.below(from.rows[static_cast<std::size_t>(s)].all()));
      }
    }
    c.slot.push_back(std::move(list));
  }
  return c;
}
Case some_rows(const Case& c, std::int64_t first, std::int64_t n) {
  Case some = c;
  some.q = Tensor<3>(c.q.type, {n, c.q.shape[1], c.q.shape[2]});
  some.sequence = {c.sequence.begin() + first, c.sequence.begin() + first + n};
  some.slot = {c.slot.begin() + first, c.slot.begin() + first + n};
  const auto step = std::ssize(c.q.bytes) / c.q.shape[0];
  std::copy_n(c.q.bytes.begin() + first * step, n * step, some.q.bytes.begin());
  return some;
}

TEST(SparseAttentionAgreement, AtEveryShape) {
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
          Case c = random_case(rows, heads, dim, listed, s, type, holes, round, random);
          agreement.add([&](const On& on) { return floats(run(on, c, type)); });
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

TEST(SparseAttentionAgreement, AtTheModelsSize) {
  Random random(2);
  const AttentionSources s(512, {{144, 3, 700}}, random);
  for (const bool round : {false, true}) {
    Agreement agreement;
    for (const std::int64_t rows : {1, 3}) {
      Case c = random_case(rows, 64, 512, 640, s, DType::bf16, 0, round, random);
      agreement.add([&](const On& on) { return floats(run(on, c, DType::bf16)); });
    }
    expect_bf16_agrees(agreement, 2, round ? 0.005 : 0.002);
  }
}

TEST(SparseAttentionAgreement, OnLargeValues) {
  Random random(9);
  const AttentionSources s(512, {{144, 3, 700}}, random, false, 64);
  // Many slots share, or one takes nearly all: the largest scores are above 128 then, where an f32 has steps of 1.5e-5,
  // and e^x carries a step on.
  for (const auto& [spread, error] : {std::pair{1 / 64.0f, 2e-6}, std::pair{1.0f, 3e-5}}) {
    Agreement agreement;
    Case c = random_case(3, 8, 512, 640, s, DType::f32, 5, false, random);
    c.scale *= spread;
    agreement.add([&](const On& on) { return floats(run(on, c, DType::f32)); });
    expect_f32_agrees(agreement, error);
  }
}

TEST(SparseAttentionAgreement, AtWidthsThatFillNoRegister) {
  Random random(3);
  Agreement agreement;
  for (const std::int64_t dim : {1, 3, 17, 40}) {
    const AttentionSources s(dim, {{9, 2, 3}}, random, true);
    Case c = random_case(2, 3, dim, 12, s, DType::f32, 3, false, random);
    agreement.add([&](const On& on) { return floats(run(on, c, DType::f32)); });
  }
  expect_f32_agrees(agreement);
}

TEST_P(SparseAttention, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  const AttentionSources both(96, {{16, 4, 30}, {16, 1, 9}}, random);
  for (const bool round : {false, true}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Case c = random_case(7, 5, 96, 150, both, type, 4, round, random);
      for (int threads = 1; threads <= 4; ++threads) {
        EXPECT_TRUE(rows_stand_alone(7, [&](std::int64_t first, std::int64_t n) {
          return floats(run(on.with_threads(threads), some_rows(c, first, n), type));
        }));
      }
    }
  }
}

// Slots of width 1 and q = 1: a slot's value is its score. Far apart, far below zero, and a sink far above all.
TEST_P(SparseAttention, HugeScoresStayFinite) {
  Random random(7);
  AttentionSources s(1, {{3, 0, 0}}, random, true);
  const float scores[] = {3000, 2990, -3000};
  std::memcpy(s.ring.codes, scores, sizeof scores);
  Case c = random_case(1, 1, 1, 3, s, DType::f32, 0, false, random);
  c.q.set(0, 1);
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    const auto y = [&](std::vector<std::int32_t> list, float sink) {
      c.slot = {std::move(list)};
      c.sink = {sink};
      return floats(run(on, c, DType::f32))[0];
    };
    EXPECT_EQ(y({2, 1, 0}, -infinity), 3000);
    EXPECT_EQ(y({2, -1, -1}, -infinity), -3000);
    EXPECT_EQ(y({2, -1, -1}, 0), 0);
    EXPECT_EQ(y({0, 1, 2}, 1e6f), 0);
  }
}

TEST_P(SparseAttention, NanStaysInItsHead) {
  Random random(8);
  const AttentionSources s(32, {{4, 0, 0}}, random);
  for (int threads = 1; threads <= 2; ++threads) {
    Case c = random_case(1, 7, 32, 70, s, DType::f32, 0, true, random);
    c.slot[0][0] = 1;
    c.q.set(3 * 32 + 5, std::nan(""));
    const auto y = floats(run(on.with_threads(threads), c, DType::bf16));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 32 == 3) << i;
  }
}

}  // namespace
}  // namespace cachalot::sparse_attention_test
