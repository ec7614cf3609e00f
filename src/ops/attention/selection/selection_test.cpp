// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/selection/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
using Groups = std::vector<std::int32_t>;

struct Case {
  std::vector<float> score;
  std::vector<std::int64_t> visible;
  std::int64_t top;
  std::vector<std::int32_t> block = {};  // [rows, blocks]
  std::int64_t block_size = 1;
};

Groups run(const Case& c) {
  const auto rows = static_cast<std::int64_t>(c.visible.size());
  Array<float, 2> score({rows, static_cast<std::int64_t>(c.score.size()) / rows});
  score.at = c.score;
  Array<std::int64_t, 1> visible({rows});
  visible.at = c.visible;
  Array<std::int32_t, 2> block({rows, static_cast<std::int64_t>(c.block.size()) / rows});
  block.at = c.block;
  Array<std::int32_t, 2> group({rows, c.top}, -7);
  Context context;
  selection_ref(context, {score, visible, block, c.block_size, group});
  return group.at;
}

TEST(Selection, BestGroupsComeBackInOrderOfPosition) { EXPECT_EQ(run({{1, 9, 3, 7, 5}, {5}, 3}), (Groups{1, 3, 4})); }

TEST(Selection, LowerGroupWinsATie) {
  EXPECT_EQ(run({{0, 0, 0, 0}, {4}, 2}), (Groups{0, 1}));
  EXPECT_EQ(run({{0, 2, 0, 2, 0, 2}, {6}, 4}), (Groups{0, 1, 3, 5}));
  EXPECT_EQ(run({{-0.0f, 0.0f}, {2}, 1}), (Groups{0}));
}

TEST(Selection, AllAreTakenAndTheEndIsPaddedWhenFewerAreVisible) {
  EXPECT_EQ(run({{3, 1, 2, 99}, {3}, 5}), (Groups{0, 1, 2, -1, -1}));
  EXPECT_EQ(run({{3, 1}, {0}, 2}), (Groups{-1, -1}));
  EXPECT_EQ(run({{3, 1}, {2}, 2}), (Groups{0, 1}));  // exactly as many as wanted
  EXPECT_EQ(run({{3, 1, 5}, {3}, 2}), (Groups{0, 2}));
}

TEST(Selection, WhatIsNotVisibleIsNeverTaken) { EXPECT_EQ(run({{1, 2, 99, infinity, nan}, {2}, 1}), (Groups{1})); }

TEST(Selection, OnlyGroupsOfCandidateBlocksAreTaken) {
  EXPECT_EQ(run({{9, 8, 1, 2, 7, 6, 3, 4}, {8}, 3, {1, 3, -1}, 2}), (Groups{3, 6, 7}));
  EXPECT_EQ(run({{9, 8, 1, 2, 7, 6, 3}, {7}, 9, {1, 3}, 2}),
            (Groups{2, 3, 6, -1, -1, -1, -1, -1, -1}));                         // a short last block
  EXPECT_EQ(run({{9, 8, 1, 2}, {3}, 4, {1, -1}, 2}), (Groups{2, -1, -1, -1}));  // and visibility
}

TEST(Selection, NoCandidateBlockAllowsNothingButAnEmptyListOfThemAllowsAll) {
  EXPECT_EQ(run({{1, 2, 3}, {3}, 2, {-1, -1}, 2}), (Groups{-1, -1}));
  EXPECT_EQ(run({{1, 2, 3}, {3}, 2, {}, 2}), (Groups{1, 2}));
}

TEST(Selection, NanAndMinusInfinityCountAsTheLowest) {
  EXPECT_EQ(run({{nan, 1, -infinity, 2}, {4}, 2}), (Groups{1, 3}));
  EXPECT_EQ(run({{nan, -infinity, nan, 0}, {4}, 3}), (Groups{0, 1, 3}));  // equal among themselves
  EXPECT_EQ(run({std::vector<float>(40, nan), {40}, 3}), (Groups{0, 1, 2}));
}

TEST(Selection, HighestScoreIsTakenAtEveryLength) {
  for (std::int64_t groups = 1; groups < 40; ++groups) {
    for (std::int64_t at = 0; at < groups; ++at) {
      std::vector<float> score(static_cast<std::size_t>(groups));
      score[static_cast<std::size_t>(at)] = 1;
      const Groups got = run({score, {groups}, 8});
      EXPECT_TRUE(
          std::ranges::binary_search(Groups(got.begin(), got.begin() + std::min<std::ptrdiff_t>(8, groups)), at));
    }
  }
}

// Counts for each group how many go before it: taken while fewer than `top` do.
TEST(Selection, MatchesCountingWhoGoesBefore) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t groups = 1 + random.below(90);
    const std::int64_t visible = random.below(groups + 1);
    const std::int64_t top = 1 + random.below(20);
    std::vector<float> score(static_cast<std::size_t>(groups));
    for (float& s : score) s = static_cast<float>(random.below(6));  // many ties
    Groups want;
    for (std::int64_t g = 0; g < visible; ++g) {
      const auto at = [&](std::int64_t i) { return score[static_cast<std::size_t>(i)]; };
      std::int64_t before = 0;
      for (std::int64_t o = 0; o < visible; ++o) before += at(o) > at(g) || (at(o) == at(g) && o < g) ? 1 : 0;
      if (before < top) want.push_back(static_cast<std::int32_t>(g));
    }
    want.resize(static_cast<std::size_t>(top), -1);
    ASSERT_EQ(run({score, {visible}, top}), want) << round;
  }
}

TEST(Selection, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  Case all{std::vector<float>(5 * 600), {0, 1, 511, 513, 600}, 512, {}, 8};
  for (float& s : all.score) s = static_cast<float>(random.below(7));
  for (int row = 0; row < 5; ++row) {
    for (std::int32_t b = 0; b < 75; b += 1 + row % 2) all.block.push_back(b);
    all.block.resize(static_cast<std::size_t>(75 * (row + 1)), -1);
  }
  const Groups together = run(all);
  for (std::ptrdiff_t row = 0; row < 5; ++row) {
    const Groups alone = run({{all.score.begin() + row * 600, all.score.begin() + (row + 1) * 600},
                              {all.visible[static_cast<std::size_t>(row)]},
                              512,
                              {all.block.begin() + row * 75, all.block.begin() + (row + 1) * 75},
                              8});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * 512)) << row;
  }
}

TEST(Selection, ManyEmptyPlacesBehindTheLastBlockHideNoBlock) {
  for (std::int32_t kept = 1; kept <= 4; ++kept) {
    std::vector<std::int32_t> block(16, -1);
    std::iota(block.begin(), block.begin() + kept, 0);
    const Groups got = run({{4, 3, 2, 1}, {4}, 4, block, 1});
    EXPECT_EQ(4 - std::ranges::count(got, -1), kept);
  }
}

}  // namespace
}  // namespace cachalot
