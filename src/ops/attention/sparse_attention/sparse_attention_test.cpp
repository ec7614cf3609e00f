// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/test_attention_sources.h"

namespace cachalot {
namespace {

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

Tensor<3> run(Case c, DType type = DType::f32) {
  const std::int64_t rows = c.q.shape[0], listed = c.slot.empty() ? 0 : std::ssize(c.slot[0]);
  Array<std::int32_t, 1> sequence({rows});
  sequence.at = c.sequence;
  Array<std::int32_t, 2> window({rows, listed}), group({rows, listed});
  for (std::int64_t r = 0; r < rows; ++r) {
    c.source.split(sequence.view()[r], c.slot[static_cast<std::size_t>(r)], window.view()[r], group.view()[r]);
  }
  Array<float, 1> sink({c.q.shape[1]});
  sink.at = c.sink;
  Tensor<3> out(type, c.q.shape);
  for (std::byte& b : out.bytes) b = std::byte{0x3F};
  Context context;
  sparse_attention_ref(context, {c.q, c.source.own.rows, c.source.ring, window, c.source.groups.rows, group, sequence,
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

TEST(SparseAttention, RowThatListsNothingGivesZeros) {
  Random random(1);
  const AttentionSources s(64, {{4, 0, 0}}, random);
  for (const bool round : {false, true}) {
    for (const std::int64_t listed : {0, 1, 64, 65}) {
      for (const float sink : {0.0f, 80.0f, -80.0f, -infinity}) {
        const std::vector<std::int32_t> nothing(static_cast<std::size_t>(listed), -1);
        const Tensor<3> y =
            run({Tensor<3>(DType::bf16, {1, 2, 64}, random), s, {0}, {nothing}, {sink, sink}, 1, round}, DType::bf16);
        for (std::int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.get(i), 0) << listed << " " << sink;
      }
    }
  }
}

TEST(SparseAttention, OneSlotWithoutSinkReturnsItsVector) {
  Random random(2);
  const AttentionSources s(64, {{5, 3, 7}}, random);
  for (std::int32_t slot = 0; slot < 15; ++slot) {  // ring, own and every group, over three pages
    const Tensor<3> y = run({Tensor<3>(DType::bf16, {1, 1, 64}, random), s, {0}, {{-1, slot}}, {-infinity}});
    const auto want = s.slot(0, slot);
    for (std::int64_t i = 0; i < 64; ++i) ASSERT_EQ(y.get(i), want[static_cast<std::size_t>(i)]) << slot;
  }
}

// q = 0: each of three slots has weight 1, the sink weighs e^0 = 1 too, but brings no value.
TEST(SparseAttention, SinkTakesItsShareOfTheDenominatorAlone) {
  Random random(3);
  const AttentionSources s(32, {{3, 0, 0}}, random);
  Case c{Tensor<3>(DType::f32, {1, 2, 32}), s, {0}, {{0, 1, 2}}, {0, std::log(5.0f)}};
  const Tensor<3> y = run(c);
  for (std::size_t i = 0; i < 32; ++i) {
    const double sum = static_cast<double>(s.slot(0, 0)[i]) + s.slot(0, 1)[i] + s.slot(0, 2)[i];
    EXPECT_NEAR(y.get(static_cast<std::int64_t>(i)), sum / 4, 1e-7);
    EXPECT_NEAR(y.get(static_cast<std::int64_t>(32 + i)), sum / 8, 1e-7);
  }
}

// Written down straight from spec 3.5: no running maximum, no blocks, long double.
double expected(const AttentionSources& s, const Case& c, std::int64_t row, std::int64_t head, std::size_t i) {
  const auto dim = c.q.shape[2];
  std::vector<long double> score;
  std::vector<long double> value;
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

TEST(SparseAttention, MatchesTheFormulaAtEveryListLength) {
  Random random(4);
  const AttentionSources s(64, {{20, 3, 40}}, random);
  for (const std::int64_t listed : {1, 2, 63, 64, 65, 128, 200}) {
    Case c{Tensor<3>(DType::f32, {2, 3, 64}, random, 3), s, {0, 0}, {}, {0.5f, -2, 3}, 1 / std::sqrt(64.0f)};
    for (int row = 0; row < 2; ++row) c.slot.push_back(random_list(listed, 63, random));
    const Tensor<3> exact = run(c);
    c.round = true;
    const Tensor<3> rounded = run(c);
    for (std::int64_t at = 0; at < exact.size(); ++at) {
      const double want = expected(s, c, at / 192, at / 64 % 3, static_cast<std::size_t>(at % 64));
      ASSERT_NEAR(exact.get(at), want, 1e-6) << listed;
      ASSERT_NEAR(rounded.get(at), want, 1e-2) << listed;  // half a bf16 step per probability
    }
  }
}

TEST(SparseAttention, MatchesTheFormulaAtTheModelsSize) {
  Random random(5);
  const AttentionSources s(512, {{144, 1, 600}}, random);
  Case c{Tensor<3>(DType::bf16, {1, 64, 512}, random),
         s,
         {0},
         {random_list(640, 745, random)},
         random_floats(64, random, 4),
         1 / std::sqrt(512.0f)};
  const Tensor<3> y = run(c);
  for (const std::int64_t head : {0, 1, 31, 63}) {
    for (const std::size_t i : {0u, 255u, 511u}) {
      EXPECT_NEAR(y.get(head * 512 + static_cast<std::int64_t>(i)), expected(s, c, 0, head, i), 1e-6)
          << head << " " << i;
    }
  }
}

TEST(SparseAttention, LargeValuesLoseNothing) {
  Random random(13);
  const AttentionSources s(512, {{144, 1, 600}}, random, false, 64);
  for (const float spread : {1.0f, 1 / 64.0f}) {  // one slot takes nearly all, or many share
    Case c{Tensor<3>(DType::bf16, {1, 2, 512}, random),
           s,
           {0},
           {random_list(640, 745, random)},
           {0, 3},
           spread / std::sqrt(512.0f)};
    const Tensor<3> y = run(c);
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

TEST(SparseAttention, RoundedProbabilitiesAreInTheNumeratorOnly) {
  Random random(6);
  const ScalarSource s({1, 0.7f}, random);
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  EXPECT_NEAR(run(scalar(s, {0, 1})).get(0), (1 + to_float(to_bf16(p)) * 0.7) / (1 + p), 1e-7);
  Case exact = scalar(s, {0, 1});
  exact.round = false;
  EXPECT_NEAR(run(exact).get(0), (1 + p * 0.7) / (1 + p), 1e-7);
}

// The same two slots with the larger one 64 entries later: the smaller one's probability was 1 when it was rounded,
// and is scaled down unrounded. -1 entries count towards the 64.
TEST(SparseAttention, ProbabilitiesAreRoundedAgainstTheMaximumOfTheirBlockOf64) {
  Random random(7);
  const ScalarSource s({1, 0.7f}, random);
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  std::vector<std::int32_t> list(66, -1);
  list[63] = 1;
  list[64] = 0;
  const double in_two_blocks = (1 + p * 0.7) / (1 + p);
  EXPECT_NEAR(run(scalar(s, list)).get(0), in_two_blocks, 1e-7);
  std::swap(list[62], list[64]);  // both in the first block
  const double in_one_block = (1 + to_float(to_bf16(p)) * 0.7) / (1 + p);
  EXPECT_NEAR(run(scalar(s, list)).get(0), in_one_block, 1e-7);
  EXPECT_GT(std::abs(in_one_block - in_two_blocks), 1e-4);
}

// Groups follow the window's last entry: the -1s at its end are behind both and move no group into another block.
TEST(SparseAttention, GroupsFollowTheLastEntryOfTheWindow) {
  Random random(14);
  const ScalarSource s(std::vector<float>(63, -50.0f), random, {0.7f, 1});
  const double p = std::exp(static_cast<double>(0.7f) - 1);
  std::vector<std::int32_t> list(80, -1);  // the window's: as long as the groups'
  for (std::int32_t i = 0; i < 63; ++i) list[static_cast<std::size_t>(i)] = i;
  list[63] = 63;  // the first group, entry 63 of the joined list
  list[64] = 64;  // the second, in the next block
  const double in_two_blocks = (1 + p * 0.7) / (1 + p);
  EXPECT_NEAR(run(scalar(s, list)).get(0), in_two_blocks, 1e-7);
  list[62] = -1;  // both are one entry earlier
  const double in_one_block = (1 + to_float(to_bf16(p)) * 0.7) / (1 + p);
  EXPECT_NEAR(run(scalar(s, list)).get(0), in_one_block, 1e-7);
  list[61] = -1;
  list[62] = 62;  // what is missing within the window counts
  EXPECT_NEAR(run(scalar(s, list)).get(0), in_two_blocks, 1e-7);
}

TEST(SparseAttention, HugeScoresStayFinite) {
  Random random(8);
  const ScalarSource s({3000, 2990, -3000}, random);
  Case c = scalar(s, {2, 1, 0});
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    EXPECT_EQ(run(c).get(0), 3000);
  }
}

// The maximum starts at -1e30, not at 0: e^-150000 is no number, but among its equals it is the largest.
TEST(SparseAttention, ScoresFarBelowZeroStillCount) {
  Random random(12);
  const ScalarSource s({-3000, -3000.5f}, random);
  Case c = scalar(s, {1, 0});
  c.scale = 50;
  for (const bool round : {false, true}) {
    c.round = round;
    EXPECT_NEAR(run(c).get(0), -3000, 1e-3);
  }
}

TEST(SparseAttention, ScaleMultipliesTheScore) {
  Random random(9);
  const ScalarSource s({0, 2}, random);
  Case c = scalar(s, {0, 1});
  c.round = false;
  c.scale = 0.5f;
  EXPECT_NEAR(run(c).get(0), 2 * std::exp(1.0) / (1 + std::exp(1.0)), 1e-6);
}

TEST(SparseAttention, NanStaysInItsHead) {
  Random random(10);
  const AttentionSources s(32, {{4, 0, 0}}, random);
  Case c{Tensor<3>(DType::f32, {1, 2, 32}, random), s, {0}, {{0, 1}}, {0, 0}};
  c.q.set(5, std::nan(""));
  const Tensor<3> y = run(c);
  EXPECT_TRUE(std::isnan(y.get(0)));
  EXPECT_TRUE(std::isfinite(y.get(32)));
}

TEST(SparseAttention, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(11);
  const AttentionSources both(64, {{16, 4, 30}, {16, 1, 9}}, random);
  for (const bool round : {false, true}) {
    Case all{Tensor<3>(DType::bf16, {5, 4, 64}, random), both, {0, 1, 0, 1, 0}, {}, {0, 1, -1, 2}, 0.125f, round};
    for (const std::int32_t sequence : all.sequence)
      all.slot.push_back(random_list(130, sequence == 0 ? 50 : 26, random));
    all.slot[2].assign(130, -1);
    const Tensor<3> together = run(all, DType::bf16);
    for (std::int64_t row = 0; row < 5; ++row) {
      const auto r = static_cast<std::size_t>(row);
      Case alone{
          Tensor<3>(DType::bf16, {1, 4, 64}), all.source, {all.sequence[r]}, {all.slot[r]}, all.sink, 0.125f, round};
      alone.q.bytes = all.q.row_bytes(row);
      EXPECT_EQ(run(alone, DType::bf16).bytes, together.row_bytes(row)) << row;
    }
  }
}

}  // namespace
}  // namespace cachalot
