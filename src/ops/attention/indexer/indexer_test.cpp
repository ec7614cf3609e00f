// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/indexer/indexer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Row {
  std::int32_t sequence;
  std::int64_t visible;
};

struct Case {
  std::int64_t heads;
  std::int64_t width;
  std::vector<float> q;       // [rows, heads, width]
  std::vector<float> weight;  // [rows, heads]
  std::vector<Row> rows;
  float scale = 1;
  RowFormat format = RowFormat::e2m1_e8m0_32;
};

Array<float, 2> run(const Case& c, const PagedRows& keys, std::int64_t groups) {
  const auto rows = static_cast<std::int64_t>(c.rows.size());
  const StoredRows q(c.format, c.width, c.q);
  Array<std::int32_t, 1> sequence({rows});
  Array<std::int64_t, 1> visible({rows});
  Tensor<2> weight(DType::f32, {rows, c.heads});
  for (std::int64_t i = 0; i < rows * c.heads; ++i) weight.set(i, c.weight[static_cast<std::size_t>(i)]);
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    sequence.at[r] = c.rows[r].sequence;
    visible.at[r] = c.rows[r].visible;
  }
  Array<float, 2> score({rows, groups}, 99);
  Context context;
  indexer_ref(context, {q.rows, weight, c.scale, keys, sequence, visible, score});
  return score;
}

TEST(Indexer, GroupIsVisibleOnceItIsComplete) {
  EXPECT_EQ(visible_groups(0, 1), 1);
  EXPECT_EQ(visible_groups(0, 2), 0);
  EXPECT_EQ(visible_groups(1, 2), 1);
  EXPECT_EQ(visible_groups(2, 2), 1);
  EXPECT_EQ(visible_groups(1'048'575, 2), 524'288);
}

// Head 0 meets key (1, 2, 0, …) with (2, 0.5, …): 3; head 1 is turned away: relu gives 0.
TEST(Indexer, ScoreIsTheWeightedSumOfPositiveDots) {
  std::vector<float> key(32);
  key[0] = 1;
  key[1] = 2;
  Case c{2, 32, std::vector<float>(64), {0.5f, 100}, {{0, 1}}, 0.25f};
  c.q[0] = 2;
  c.q[1] = 0.5f;
  c.q[32] = -1;
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, key);
  const StoredPages pages({&rows}, 4);
  EXPECT_EQ(run(c, pages.rows, 1).at[0], 3 * 0.125f);
}

TEST(Indexer, InvisibleGroupsAreMinusInfinityFromTheFirstOn) {
  Random random(1);
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, random_floats(9 * 32, random));
  const StoredPages pages({&rows}, 4);
  for (std::int64_t visible = 0; visible <= 9; ++visible) {
    const Case c{1, 32, random_floats(32, random), {1}, {{0, visible}}};
    const auto score = run(c, pages.rows, 9);
    for (std::int64_t g = 0; g < 9; ++g)
      EXPECT_EQ(score.at[static_cast<std::size_t>(g)] == -infinity, g >= visible) << visible;
  }
}

TEST(Indexer, VisibleGroupWithoutAKeyCountsAsAZeroKey) {
  Random random(2);
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, random_floats(2 * 32, random));
  const StoredPages pages({&rows, nullptr}, 4);
  const Case c{1, 32, random_floats(32, random), {-1}, {{0, 4}}};
  const auto score = run(c, pages.rows, 5);
  EXPECT_EQ(score.at[2], 0);
  EXPECT_EQ(score.at[3], 0);
  EXPECT_FALSE(std::signbit(score.at[3]));
  EXPECT_EQ(score.at[4], -infinity);
}

// The model's size, both sequences, groups in small pages; the test recomputes from the decoded codes in long double.
TEST(Indexer, MatchesTheFormulaAtTheModelsSize) {
  Random random(3);
  const std::int64_t heads = 32;
  const std::int64_t width = 128;
  const StoredRows one(RowFormat::e2m1_e8m0_32, width, random_floats(40 * width, random, 2));
  const StoredRows two(RowFormat::e2m1_e8m0_32, width, random_floats(17 * width, random, 2));
  const StoredPages pages({&one, &two}, 16);
  const Case c{heads,
               width,
               random_floats(3 * heads * width, random, 3),
               random_floats(3 * heads, random),
               {{1, 17}, {0, 40}, {0, 1}},
               1 / std::sqrt(128.0f * 32)};
  const auto score = run(c, pages.rows, 40);
  const StoredRows q(c.format, width, c.q);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::int64_t g = 0; g < c.rows[r].visible; ++g) {
      const auto key = c.rows[r].sequence == 0 ? one.row(g) : two.row(g);
      long double want = 0;
      for (std::size_t h = 0; h < 32; ++h) {
        const auto qh = q.row(static_cast<std::int64_t>(32 * r + h));
        long double dot = 0;
        for (std::size_t i = 0; i < key.size(); ++i) dot += static_cast<long double>(qh[i]) * key[i];
        want += std::max(dot, 0.0L) * c.weight[32 * r + h] * c.scale;
      }
      ASSERT_NEAR(score.at[40 * r + static_cast<std::size_t>(g)], static_cast<double>(want), 1e-5) << r << " " << g;
    }
  }
}

// The query equals one key: that key wins, wherever it stands.
TEST(Indexer, KeyEqualToTheQueryScoresHighest) {
  Random random(4);
  for (const std::int64_t planted : {0, 1, 15, 16, 30}) {
    auto keys = random_floats(31 * 64, random);
    auto q = random_floats(64, random);
    for (float& v : q) v = v < 0 ? -4.0f : 4.0f;
    std::copy(q.begin(), q.end(), keys.begin() + planted * 64);
    const StoredRows rows(RowFormat::e2m1_e8m0_32, 64, keys);
    const StoredPages pages({&rows}, 16);
    const auto score = run({1, 64, q, {1}, {{0, 31}}}, pages.rows, 31);
    EXPECT_EQ(std::max_element(score.at.begin(), score.at.end()) - score.at.begin(), planted);
  }
}

TEST(Indexer, NanStaysNan) {
  Case c{1, 32, std::vector<float>(32, 1.0f), {1}, {{0, 1}}, 1, RowFormat::bf16};
  c.q[3] = std::nanf("");
  const StoredRows rows(RowFormat::bf16, 32, std::vector<float>(32, 1.0f));
  const StoredPages pages({&rows}, 1);
  EXPECT_TRUE(std::isnan(run(c, pages.rows, 1).at[0]));
}

TEST(Indexer, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  const StoredRows one(RowFormat::e2m1_e8m0_32, 64, random_floats(20 * 64, random));
  const StoredRows two(RowFormat::e2m1_e8m0_32, 64, random_floats(12 * 64, random));
  const StoredPages pages({&one, &two}, 8);
  const Case all{
      4, 64, random_floats(4 * 4 * 64, random), random_floats(4 * 4, random), {{0, 3}, {1, 12}, {0, 20}, {1, 0}}};
  const auto together = run(all, pages.rows, 20);
  for (std::ptrdiff_t r = 0; r < 4; ++r) {
    const Case alone{4,
                     64,
                     {all.q.begin() + r * 256, all.q.begin() + (r + 1) * 256},
                     {all.weight.begin() + r * 4, all.weight.begin() + (r + 1) * 4},
                     {all.rows[static_cast<std::size_t>(r)]}};
    const auto score = run(alone, pages.rows, 20);
    EXPECT_TRUE(std::equal(score.at.begin(), score.at.end(), together.at.begin() + r * 20));
  }
}

}  // namespace
}  // namespace cachalot
