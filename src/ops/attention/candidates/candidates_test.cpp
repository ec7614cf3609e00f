// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/candidates/candidates.h"

#include <cmath>
#include <limits>

#include "ops/test_backends.h"

namespace cachalot::candidates_test {
namespace {

using Candidates = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Candidates, each_backend(), place_name);

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
using Blocks = std::vector<std::int32_t>;

Blocks run(const On& on, const std::vector<float>& score, std::vector<std::int64_t> visible, std::int64_t block_size,
           std::int64_t top) {
  const auto rows = static_cast<std::int64_t>(visible.size());
  Array<float, 2> s({rows, static_cast<std::int64_t>(score.size()) / rows});
  s.at = score;
  Array<std::int64_t, 1> v({rows});
  v.at = std::move(visible);
  Array<std::int32_t, 2> block({rows, top}, -7);
  on(&Backend::candidates, {s, v, block_size, block});
  return block.at;
}

TEST_P(Candidates, BlockCountsAsItsBestGroup) {
  EXPECT_EQ(run(on, {1, 9, 5, 5, 2, 8, 0, 0}, {8}, 2, 3), (Blocks{0, 2, 3}));  // bests 9 5 8 0, the last pinned
}

TEST_P(Candidates, BlockOfTheNewestVisibleGroupIsAlwaysKept) {
  EXPECT_EQ(run(on, {9, 9, 8, 8, 7, 7, -5, 6}, {7}, 2, 2), (Blocks{0, 3}));
  EXPECT_EQ(run(on, {9, 9, 8, 8, -5, 6, 7, 7}, {6}, 2, 1), (Blocks{2}));
  EXPECT_EQ(run(on, {infinity, 1, 1}, {3}, 1, 1), (Blocks{2}));
}

TEST_P(Candidates, LowerBlockWinsATie) {
  EXPECT_EQ(run(on, {0, 0, 0, 0, 0, 0}, {6}, 1, 3), (Blocks{0, 1, 5}));
  EXPECT_EQ(run(on, {3, 1, 3, 3, 0}, {5}, 1, 3), (Blocks{0, 2, 4}));
}

TEST_P(Candidates, WhatIsNotVisibleIsNotLookedAt) {
  EXPECT_EQ(run(on, {1, 2, 3, nan, infinity, 99}, {3}, 2, 3), (Blocks{0, 1, -1}));  // block 1 half visible, block 2 not
  EXPECT_EQ(run(on, {5, 5, 1, 99, 4, 4, 0, 0}, {7}, 2, 8), (Blocks{0, 1, 2, 3, -1, -1, -1, -1}));
  EXPECT_EQ(run(on, {0, 1, 0, 99, 0, 0}, {3}, 2, 1), (Blocks{1}));
}

TEST_P(Candidates, NothingVisibleKeepsNothing) { EXPECT_EQ(run(on, {1, 2, 3}, {0}, 2, 2), (Blocks{-1, -1})); }

TEST_P(Candidates, LastBlockMayBeShort) {
  EXPECT_EQ(run(on, {1, 1, 1, 2, 2, 2, 9}, {7}, 3, 2), (Blocks{1, 2}));
  EXPECT_EQ(run(on, {1}, {1}, 8, 3), (Blocks{0, -1, -1}));
}

TEST_P(Candidates, NanAndMinusInfinityCountAsTheLowest) {
  EXPECT_EQ(run(on, {nan, 1, -infinity, 2, 0}, {5}, 1, 3), (Blocks{1, 3, 4}));
  EXPECT_EQ(run(on, {nan, nan, nan, nan}, {4}, 1, 2), (Blocks{0, 3}));
  EXPECT_EQ(run(on, {nan, 5, 3, 3, 0, 0}, {6}, 2, 2), (Blocks{0, 2}));  // the NaN does not hide its neighbour
}

// Counts for each block how many go before it: kept while fewer than `top` do.
TEST_P(Candidates, MatchesCountingWhoGoesBefore) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t groups = random.below(70);
    const std::int64_t visible = random.below(groups + 1);
    const std::int64_t size = 1 + random.below(9);
    const std::int64_t top = 1 + random.below(12);
    std::vector<float> score(static_cast<std::size_t>(groups));
    for (float& s : score) s = static_cast<float>(random.below(5));  // many ties
    const std::int64_t blocks = (visible + size - 1) / size;
    const auto best = [&](std::int64_t b) {
      if (b == blocks - 1) return infinity;
      return *std::max_element(score.begin() + b * size, score.begin() + std::min(visible, (b + 1) * size));
    };
    Blocks want;
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::int64_t before = 0;
      for (std::int64_t o = 0; o < blocks; ++o) before += best(o) > best(b) || (best(o) == best(b) && o < b) ? 1 : 0;
      if (before < top) want.push_back(static_cast<std::int32_t>(b));
    }
    want.resize(static_cast<std::size_t>(top), -1);
    ASSERT_EQ(run(on, score, {visible}, size, top), want) << round;
  }
}

TEST_P(Candidates, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  std::vector<float> score(5 * 40);
  for (float& s : score) s = static_cast<float>(random.below(7));
  const std::vector<std::int64_t> visible = {0, 1, 17, 39, 40};
  const Blocks all = run(on, score, visible, 4, 6);
  for (std::ptrdiff_t row = 0; row < 5; ++row) {
    const Blocks alone = run(on, {score.begin() + row * 40, score.begin() + (row + 1) * 40},
                             {visible[static_cast<std::size_t>(row)]}, 4, 6);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * 6)) << row;
  }
}

struct Case {
  Array<float, 2> score;
  Array<std::int64_t, 1> visible;
  std::int64_t block_size;
  std::int64_t top;
};

void expect_equal(Case c) {
  Agreement agreement;
  agreement.add([&](const On& on) {
    Array<std::int32_t, 2> block({c.score.shape[0], c.top}, -7);
    on(&Backend::candidates, {c.score, c.visible, c.block_size, block});
    return std::vector<float>(block.at.begin(), block.at.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << c.score.shape[1] << " groups in blocks of " << c.block_size << ", top " << c.top;
}

TEST(CandidatesAgreement, OnScoresWithTiesNanAndInfinities) {
  Random random(1);
  const float odd[] = {nan, -infinity, infinity, 0.0f, -0.0f};
  for (int round = 0; round < 150; ++round) {
    const std::int64_t rows = 1 + random.below(4);
    const std::int64_t groups = random.below(round % 3 == 0 ? 4000 : 90);
    Case c{Array<float, 2>({rows, groups}), Array<std::int64_t, 1>({rows}), 1 + random.below(20),
           random.below(round % 2 == 0 ? 4 : 200)};
    const std::int64_t kinds = 1 + random.below(round % 7 == 0 ? 2 : 400);
    for (float& v : c.score.at) {
      v = static_cast<float>(random.below(kinds) - kinds / 2);
      if (random.below(8) == 0) v = odd[random.below(5)];
    }
    for (std::int64_t& v : c.visible.at) v = random.below(groups + 1);
    expect_equal(c);
  }
}

TEST(CandidatesAgreement, WhenOneRowIsCutIntoPieces) {
  Random random(2);
  for (const std::int64_t groups : {2 * 524'288 + 3, 1'700'000}) {
    Case c{Array<float, 2>({1, groups}), Array<std::int64_t, 1>({1}, groups), 2, 2048};
    for (float& v : c.score.at) v = static_cast<float>(random.below(1 << 20));
    expect_equal(c);
  }
}

TEST(CandidatesAgreement, OnWholeRowsOfNanAndZeros) {
  for (const float v : {nan, -infinity, 0.0f}) {
    for (const std::int64_t top : {1, 2, 5, 100}) {
      expect_equal({Array<float, 2>({1, 700}, v), Array<std::int64_t, 1>({1}, 699), 8, top});
    }
  }
}

TEST_P(Candidates, LongRowsAreTheSameAlone) {
  Random random(3);
  Case c{Array<float, 2>({6, 900}), Array<std::int64_t, 1>({6}), 8, 30};
  for (float& v : c.score.at) v = static_cast<float>(random.below(50));
  for (std::int64_t& v : c.visible.at) v = random.below(901);
  EXPECT_TRUE(rows_stand_alone(6, [&](std::int64_t first, std::int64_t n) {
    Array<std::int32_t, 2> block({n, 30});
    on.with_threads(2)(&Backend::candidates,
                       {c.score.view().part(first, n), c.visible.view().part(first, n), 8, block});
    return std::vector<float>(block.at.begin(), block.at.end());
  }));
}

}  // namespace
}  // namespace cachalot::candidates_test
