// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/candidates/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
using Blocks = std::vector<std::int32_t>;

Blocks run(const std::vector<float>& score, std::vector<std::int64_t> visible, std::int64_t block_size,
           std::int64_t top) {
  const auto rows = static_cast<std::int64_t>(visible.size());
  Array<float, 2> s({rows, static_cast<std::int64_t>(score.size()) / rows});
  s.at = score;
  Array<std::int64_t, 1> v({rows});
  v.at = std::move(visible);
  Array<std::int32_t, 2> block({rows, top}, -7);
  Context context;
  candidates_ref(context, {s, v, block_size, block});
  return block.at;
}

TEST(Candidates, BlockCountsAsItsBestGroup) {
  EXPECT_EQ(run({1, 9, 5, 5, 2, 8, 0, 0}, {8}, 2, 3), (Blocks{0, 2, 3}));  // bests 9 5 8 0, the last pinned
}

TEST(Candidates, BlockOfTheNewestVisibleGroupIsAlwaysKept) {
  EXPECT_EQ(run({9, 9, 8, 8, 7, 7, -5, 6}, {7}, 2, 2), (Blocks{0, 3}));
  EXPECT_EQ(run({9, 9, 8, 8, -5, 6, 7, 7}, {6}, 2, 1), (Blocks{2}));
  EXPECT_EQ(run({infinity, 1, 1}, {3}, 1, 1), (Blocks{2}));
}

TEST(Candidates, LowerBlockWinsATie) {
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0}, {6}, 1, 3), (Blocks{0, 1, 5}));
  EXPECT_EQ(run({3, 1, 3, 3, 0}, {5}, 1, 3), (Blocks{0, 2, 4}));
}

TEST(Candidates, WhatIsNotVisibleIsNotLookedAt) {
  EXPECT_EQ(run({1, 2, 3, nan, infinity, 99}, {3}, 2, 3), (Blocks{0, 1, -1}));  // block 1 half visible, block 2 not
  EXPECT_EQ(run({5, 5, 1, 99, 4, 4, 0, 0}, {7}, 2, 8), (Blocks{0, 1, 2, 3, -1, -1, -1, -1}));
  EXPECT_EQ(run({0, 1, 0, 99, 0, 0}, {3}, 2, 1), (Blocks{1}));
}

TEST(Candidates, NothingVisibleKeepsNothing) { EXPECT_EQ(run({1, 2, 3}, {0}, 2, 2), (Blocks{-1, -1})); }

TEST(Candidates, LastBlockMayBeShort) {
  EXPECT_EQ(run({1, 1, 1, 2, 2, 2, 9}, {7}, 3, 2), (Blocks{1, 2}));
  EXPECT_EQ(run({1}, {1}, 8, 3), (Blocks{0, -1, -1}));
}

TEST(Candidates, NanAndMinusInfinityCountAsTheLowest) {
  EXPECT_EQ(run({nan, 1, -infinity, 2, 0}, {5}, 1, 3), (Blocks{1, 3, 4}));
  EXPECT_EQ(run({nan, nan, nan, nan}, {4}, 1, 2), (Blocks{0, 3}));
  EXPECT_EQ(run({nan, 5, 3, 3, 0, 0}, {6}, 2, 2), (Blocks{0, 2}));  // the NaN does not hide its neighbour
}

// Counts for each block how many go before it: kept while fewer than `top` do.
TEST(Candidates, MatchesCountingWhoGoesBefore) {
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
    ASSERT_EQ(run(score, {visible}, size, top), want) << round;
  }
}

TEST(Candidates, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  std::vector<float> score(5 * 40);
  for (float& s : score) s = static_cast<float>(random.below(7));
  const std::vector<std::int64_t> visible = {0, 1, 17, 39, 40};
  const Blocks all = run(score, visible, 4, 6);
  for (std::ptrdiff_t row = 0; row < 5; ++row) {
    const Blocks alone =
        run({score.begin() + row * 40, score.begin() + (row + 1) * 40}, {visible[static_cast<std::size_t>(row)]}, 4, 6);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * 6)) << row;
  }
}

}  // namespace
}  // namespace cachalot
