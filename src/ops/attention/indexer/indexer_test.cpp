// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/indexer/indexer.h"

#include <cmath>
#include <limits>

#include "ops/test_backends.h"

namespace cachalot::indexer_test {
namespace {

using Indexer = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Indexer, each_backend(), place_name);

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

Array<float, 2> run(const On& on, const Case& c, const PagedRows& keys, std::int64_t groups) {
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
  on(&Backend::indexer, {q.rows, weight, c.scale, keys, sequence, visible, score});
  return score;
}

TEST(VisibleGroups, AreThoseThatAreComplete) {
  EXPECT_EQ(visible_groups(0, 1), 1);
  EXPECT_EQ(visible_groups(0, 2), 0);
  EXPECT_EQ(visible_groups(1, 2), 1);
  EXPECT_EQ(visible_groups(2, 2), 1);
  EXPECT_EQ(visible_groups(1'048'575, 2), 524'288);
}

// Head 0 meets key (1, 2, 0, …) with (2, 0.5, …): 3; head 1 is turned away: relu gives 0.
TEST_P(Indexer, ScoreIsTheWeightedSumOfPositiveDots) {
  std::vector<float> key(32);
  key[0] = 1;
  key[1] = 2;
  Case c{2, 32, std::vector<float>(64), {0.5f, 100}, {{0, 1}}, 0.25f};
  c.q[0] = 2;
  c.q[1] = 0.5f;
  c.q[32] = -1;
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, key);
  const StoredPages pages({&rows}, 4);
  EXPECT_EQ(run(on, c, pages.rows, 1).at[0], 3 * 0.125f);
}

TEST_P(Indexer, InvisibleGroupsAreMinusInfinityFromTheFirstOn) {
  Random random(1);
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, random_floats(9 * 32, random));
  const StoredPages pages({&rows}, 4);
  for (std::int64_t visible = 0; visible <= 9; ++visible) {
    const Case c{1, 32, random_floats(32, random), {1}, {{0, visible}}};
    const auto score = run(on, c, pages.rows, 9);
    for (std::int64_t g = 0; g < 9; ++g)
      EXPECT_EQ(score.at[static_cast<std::size_t>(g)] == -infinity, g >= visible) << visible;
  }
}

TEST_P(Indexer, VisibleGroupWithoutAKeyCountsAsAZeroKey) {
  Random random(2);
  const StoredRows rows(RowFormat::e2m1_e8m0_32, 32, random_floats(2 * 32, random));
  const StoredPages pages({&rows, nullptr}, 4);
  const Case c{1, 32, random_floats(32, random), {-1}, {{0, 4}}};
  const auto score = run(on, c, pages.rows, 5);
  EXPECT_EQ(score.at[2], 0);
  EXPECT_EQ(score.at[3], 0);
  EXPECT_FALSE(std::signbit(score.at[3]));
  EXPECT_EQ(score.at[4], -infinity);
}

// The model's size, both sequences, groups in small pages; the test recomputes from the decoded codes in long double.
TEST_P(Indexer, MatchesTheFormulaAtTheModelsSize) {
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
  const auto score = run(on, c, pages.rows, 40);
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
TEST_P(Indexer, KeyEqualToTheQueryScoresHighest) {
  Random random(4);
  for (const std::int64_t planted : {0, 1, 15, 16, 30}) {
    auto keys = random_floats(31 * 64, random);
    auto q = random_floats(64, random);
    for (float& v : q) v = v < 0 ? -4.0f : 4.0f;
    std::copy(q.begin(), q.end(), keys.begin() + planted * 64);
    const StoredRows rows(RowFormat::e2m1_e8m0_32, 64, keys);
    const StoredPages pages({&rows}, 16);
    const auto score = run(on, {1, 64, q, {1}, {{0, 31}}}, pages.rows, 31);
    EXPECT_EQ(std::max_element(score.at.begin(), score.at.end()) - score.at.begin(), planted);
  }
}

TEST_P(Indexer, NanStaysNan) {
  Case c{1, 32, std::vector<float>(32, 1.0f), {1}, {{0, 1}}, 1, RowFormat::bf16};
  c.q[3] = std::nanf("");
  const StoredRows rows(RowFormat::bf16, 32, std::vector<float>(32, 1.0f));
  const StoredPages pages({&rows}, 1);
  EXPECT_TRUE(std::isnan(run(on, c, pages.rows, 1).at[0]));
}

TEST_P(Indexer, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(5);
  const StoredRows one(RowFormat::e2m1_e8m0_32, 64, random_floats(20 * 64, random));
  const StoredRows two(RowFormat::e2m1_e8m0_32, 64, random_floats(12 * 64, random));
  const StoredPages pages({&one, &two}, 8);
  const Case all{
      4, 64, random_floats(4 * 4 * 64, random), random_floats(4 * 4, random), {{0, 3}, {1, 12}, {0, 20}, {1, 0}}};
  const auto together = run(on, all, pages.rows, 20);
  for (std::ptrdiff_t r = 0; r < 4; ++r) {
    const Case alone{4,
                     64,
                     {all.q.begin() + r * 256, all.q.begin() + (r + 1) * 256},
                     {all.weight.begin() + r * 4, all.weight.begin() + (r + 1) * 4},
                     {all.rows[static_cast<std::size_t>(r)]}};
    const auto score = run(on, alone, pages.rows, 20);
    EXPECT_TRUE(std::equal(score.at.begin(), score.at.end(), together.at.begin() + r * 20));
  }
}

constexpr float unseen = -3;

// Rows of one or more sequences; scores come back with `unseen` for -inf, so that Agreement can look at them.
struct RandomCase {
  std::int64_t heads, width, groups;
  RowFormat format;
  StoredRows q;
  Tensor<2> weight;
  PagedRows keys;
  Array<std::int32_t, 1> sequence;
  Array<std::int64_t, 1> visible;

  RandomCase(std::int64_t rows, std::int64_t h, std::int64_t w, std::int64_t g, const PagedRows& k, RowFormat f,
             DType weight_type, Random& random)
      : heads(h),
        width(w),
        groups(g),
        format(f),
        q(f, w, random_floats(rows * h * w, random, 3)),
        weight(weight_type, {rows, h}, random),
        keys(k),
        sequence({rows}),
        visible({rows}) {
    for (std::int32_t& s : sequence.at) s = static_cast<std::int32_t>(random.below(keys.readable.extent(0)));
    for (std::int64_t& v : visible.at) v = random.below(groups + 1);
  }

  std::vector<float> scores(const On& on, std::int64_t first, std::int64_t n) {
    PackedRows some = q.rows;
    some.rows = n * heads;
    some.codes += first * heads * code_bytes(format, width);
    some.scales += first * heads * scale_bytes(format, width);
    Array<float, 2> score({n, groups}, 99);
    on(&Backend::indexer,
       {some, ConstValues<2>(weight).part(first, n), 1 / std::sqrt(static_cast<float>(heads * width)), keys,
        sequence.view().part(first, n), visible.view().part(first, n), score});
    for (float& s : score.at) {
      if (s == -infinity) s = unseen;
    }
    return score.at;
  }
  std::int64_t rows() const { return sequence.shape[0]; }
};

TEST(IndexerAgreement, AtEveryShape) {
  Random random(1);
  for (const RowFormat f : {RowFormat::e2m1_e8m0_32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::f32}) {
    Agreement agreement;
    for (int round = 0; round < 25; ++round) {
      const std::int64_t width = f == RowFormat::f32 ? 1 + random.below(70) : 32 * (1 + random.below(4));
      const StoredRows one(f, width, random_floats((1 + random.below(150)) * width, random, 2));
      const StoredRows two(f, width, random_floats((1 + random.below(40)) * width, random, 2));
      const StoredPages pages({&one, &two}, 1 + random.below(40),
                              round % 3 == 0 ? RowLayout::records : RowLayout::planes);
      const std::int64_t rows = 1 + random.below(7), heads = 1 + random.below(9);
      const std::int64_t groups = std::max(one.rows.rows, two.rows.rows) + random.below(3);
      RandomCase c(rows, heads, width, groups, pages.rows, f, round % 2 == 0 ? DType::f32 : DType::bf16, random);
      agreement.add([&](const On& on) { return c.scores(on, 0, c.rows()); });
    }
    expect_f32_agrees(agreement, 1e-6);
  }
}

TEST(IndexerAgreement, AtTheModelsSizeAndPastABandOfRows) {
  Random random(2);
  Agreement agreement;
  const StoredRows keys(RowFormat::e2m1_e8m0_32, 128, random_floats(300 * 128, random, 2));
  const StoredPages pages({&keys}, 64);
  for (const std::int64_t rows : {1, 2, 70}) {
    RandomCase c(rows, 32, 128, 300, pages.rows, RowFormat::e2m1_e8m0_32, DType::bf16, random);
    agreement.add([&](const On& on) { return c.scores(on, 0, rows); });
  }
  EXPECT_EQ(agreement.unequal, 0) << agreement;  // the dots are exact
}

TEST_P(Indexer, ManyRowsAreTheSameAlone) {
  Random random(3);
  const StoredRows one(RowFormat::e2m1_e8m0_32, 64, random_floats(77 * 64, random));
  const StoredRows two(RowFormat::e2m1_e8m0_32, 64, random_floats(50 * 64, random));
  const StoredPages pages({&one, &two}, 8);
  RandomCase c(90, 6, 64, 80, pages.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
  EXPECT_TRUE(
      rows_stand_alone(90, [&](std::int64_t from, std::int64_t n) { return c.scores(on.with_threads(2), from, n); }));
}

// Every code under scales from subnormal to NaN: with one-hot queries, the score is the decoded key.
TEST_P(Indexer, DecodesEveryCodeOfAKey) {
  std::vector<std::uint8_t> codes(16 * 16),
      scales = {0, 1, 2, 100, 126, 127, 128, 129, 130, 140, 150, 160, 170, 180, 254, 255};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  StoredRows keys(RowFormat::e2m1_e8m0_32, 32, std::vector<float>(16 * 32));
  keys.codes = codes;
  keys.scales = scales;
  keys.rows.codes = keys.codes.data();
  keys.rows.scales = keys.scales.data();
  const StoredPages pages({&keys}, 5);
  Random random(4);
  RandomCase c(32, 1, 32, 16, pages.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
  std::vector<float> one_hot(32 * 32);
  for (std::size_t i = 0; i < 32; ++i) one_hot[33 * i] = i % 2 == 0 ? 1.0f : -1.0f;
  const StoredRows q(RowFormat::e2m1_e8m0_32, 32, one_hot);
  c.q.codes = q.codes;
  c.q.scales = q.scales;
  c.q.rows.codes = c.q.codes.data();
  c.q.rows.scales = c.q.scales.data();
  for (std::int64_t& v : c.visible.at) v = 16;
  const auto got = c.scores(on, 0, 32);
  const auto want = c.scores(On(), 0, 32);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

TEST_P(Indexer, ManyGroupsWithoutAKeyCountAsZeroKeysBesideNan) {
  Random random(5);
  const StoredRows rows(RowFormat::bf16, 32, std::vector<float>(2 * 32, 1.0f));
  const StoredPages pages({&rows, nullptr}, 4);
  RandomCase c(2, 1, 32, 40, pages.rows, RowFormat::bf16, DType::f32, random);
  c.sequence.at = {0, 1};
  c.visible.at = {39, 2};
  auto y = c.scores(on, 0, 2);
  for (std::size_t g = 2; g < 39; ++g) EXPECT_TRUE(y[g] == 0 && !std::signbit(y[g])) << g;
  EXPECT_EQ(y[39], unseen);
  EXPECT_EQ(y[40], 0);
  EXPECT_EQ(y[42], unseen);
  const bf16 nan = to_bf16(std::nanf(""));
  std::memcpy(c.q.codes.data() + 6, &nan, 2);
  y = c.scores(on, 0, 2);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[5]));
  EXPECT_EQ(y[39], unseen);
  EXPECT_EQ(y[40], 0);
}

TEST_P(Indexer, NoRowsAndNoGroupsAreNothingToDo) {
  Random random(6);
  const StoredPages none({nullptr}, 4);
  for (const std::int64_t rows : {0, 2}) {
    RandomCase c(rows, 3, 32, 0, none.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
    EXPECT_TRUE(c.scores(on, 0, rows).empty());
  }
}

}  // namespace
}  // namespace cachalot::indexer_test
