// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/selection/selection.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/test_backends.h"

namespace cachalot::selection_test {
namespace {

using Selection = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Selection, each_backend(), place_name);

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

Groups run(const On& on, const Case& c) {
  const auto rows = static_cast<std::int64_t>(c.visible.size());
  Array<float, 2> score({rows, static_cast<std::int64_t>(c.score.size()) / rows});
  score.at = c.score;
  Array<std::int64_t, 1> visible({rows});
  visible.at = c.visible;
  Array<std::int32_t, 2> block({rows, static_cast<std::int64_t>(c.block.size()) / rows});
  block.at = c.block;
  Array<std::int32_t, 2> group({rows, c.top}, -7);
  on(&Backend::selection, {score, visible, block, c.block_size, group});
  return group.at;
}

TEST_P(Selection, BestGroupsComeBackInOrderOfPosition) {
  EXPECT_EQ(run(on, {{1, 9, 3, 7, 5}, {5}, 3}), (Groups{1, 3, 4}));
}

TEST_P(Selection, LowerGroupWinsATie) {
  EXPECT_EQ(run(on, {{0, 0, 0, 0}, {4}, 2}), (Groups{0, 1}));
  EXPECT_EQ(run(on, {{0, 2, 0, 2, 0, 2}, {6}, 4}), (Groups{0, 1, 3, 5}));
  EXPECT_EQ(run(on, {{-0.0f, 0.0f}, {2}, 1}), (Groups{0}));
}

TEST_P(Selection, AllAreTakenAndTheEndIsPaddedWhenFewerAreVisible) {
  EXPECT_EQ(run(on, {{3, 1, 2, 99}, {3}, 5}), (Groups{0, 1, 2, -1, -1}));
  EXPECT_EQ(run(on, {{3, 1}, {0}, 2}), (Groups{-1, -1}));
  EXPECT_EQ(run(on, {{3, 1}, {2}, 2}), (Groups{0, 1}));  // exactly as many as wanted
  EXPECT_EQ(run(on, {{3, 1, 5}, {3}, 2}), (Groups{0, 2}));
}

TEST_P(Selection, WhatIsNotVisibleIsNeverTaken) {
  EXPECT_EQ(run(on, {{1, 2, 99, infinity, nan}, {2}, 1}), (Groups{1}));
}

TEST_P(Selection, OnlyGroupsOfCandidateBlocksAreTaken) {
  EXPECT_EQ(run(on, {{9, 8, 1, 2, 7, 6, 3, 4}, {8}, 3, {1, 3, -1}, 2}), (Groups{3, 6, 7}));
  EXPECT_EQ(run(on, {{9, 8, 1, 2, 7, 6, 3}, {7}, 9, {1, 3}, 2}),
            (Groups{2, 3, 6, -1, -1, -1, -1, -1, -1}));                             // a short last block
  EXPECT_EQ(run(on, {{9, 8, 1, 2}, {3}, 4, {1, -1}, 2}), (Groups{2, -1, -1, -1}));  // and visibility
}

TEST_P(Selection, NoCandidateBlockAllowsNothingButAnEmptyListOfThemAllowsAll) {
  EXPECT_EQ(run(on, {{1, 2, 3}, {3}, 2, {-1, -1}, 2}), (Groups{-1, -1}));
  EXPECT_EQ(run(on, {{1, 2, 3}, {3}, 2, {}, 2}), (Groups{1, 2}));
}

TEST_P(Selection, NanAndMinusInfinityCountAsTheLowest) {
  EXPECT_EQ(run(on, {{nan, 1, -infinity, 2}, {4}, 2}), (Groups{1, 3}));
  EXPECT_EQ(run(on, {{nan, -infinity, nan, 0}, {4}, 3}), (Groups{0, 1, 3}));  // equal among themselves
  EXPECT_EQ(run(on, {std::vector<float>(40, nan), {40}, 3}), (Groups{0, 1, 2}));
}

TEST_P(Selection, HighestScoreIsTakenAtEveryLength) {
  for (std::int64_t groups = 1; groups < 40; ++groups) {
    for (std::int64_t at = 0; at < groups; ++at) {
      std::vector<float> score(static_cast<std::size_t>(groups));
      score[static_cast<std::size_t>(at)] = 1;
      const Groups got = run(on, {score, {groups}, 8});
      EXPECT_TRUE(
          std::ranges::binary_search(Groups(got.begin(), got.begin() + std::min<std::ptrdiff_t>(8, groups)), at));
    }
  }
}

// Counts for each group how many go before it: taken while fewer than `top` do.
TEST_P(Selection, MatchesCountingWhoGoesBefore) {
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
    ASSERT_EQ(run(on, {score, {visible}, top}), want) << round;
  }
}

TEST_P(Selection, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  Case all{std::vector<float>(5 * 600), {0, 1, 511, 513, 600}, 512, {}, 8};
  for (float& s : all.score) s = static_cast<float>(random.below(7));
  for (int row = 0; row < 5; ++row) {
    for (std::int32_t b = 0; b < 75; b += 1 + row % 2) all.block.push_back(b);
    all.block.resize(static_cast<std::size_t>(75 * (row + 1)), -1);
  }
  const Groups together = run(on, all);
  for (std::ptrdiff_t row = 0; row < 5; ++row) {
    const Groups alone = run(on, {{all.score.begin() + row * 600, all.score.begin() + (row + 1) * 600},
                                  {all.visible[static_cast<std::size_t>(row)]},
                                  512,
                                  {all.block.begin() + row * 75, all.block.begin() + (row + 1) * 75},
                                  8});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * 512)) << row;
  }
}

TEST_P(Selection, ManyEmptyPlacesBehindTheLastBlockHideNoBlock) {
  for (std::int32_t kept = 1; kept <= 4; ++kept) {
    std::vector<std::int32_t> block(16, -1);
    std::iota(block.begin(), block.begin() + kept, 0);
    const Groups got = run(on, {{4, 3, 2, 1}, {4}, 4, block, 1});
    EXPECT_EQ(4 - std::ranges::count(got, -1), kept);
  }
}

struct RandomCase {
  Array<float, 2> score;
  Array<std::int64_t, 1> visible;
  Array<std::int32_t, 2> block;  // [rows, 0]: everywhere
  std::int64_t block_size;
  std::int64_t top;
};

void expect_equal(RandomCase c) {
  Agreement agreement;
  agreement.add([&](const On& on) {
    Array<std::int32_t, 2> group({c.score.shape[0], c.top}, -7);
    on(&Backend::selection, {c.score, c.visible, c.block, c.block_size, group});
    return std::vector<float>(group.at.begin(), group.at.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << c.score.shape[1] << " groups, top " << c.top;
}

TEST(SelectionAgreement, OnScoresWithTiesNanAndInfinities) {
  Random random(1);
  const float odd[] = {nan, -infinity, infinity, 0.0f, -0.0f};
  for (int round = 0; round < 120; ++round) {
    const std::int64_t rows = 1 + random.below(4);
    const std::int64_t groups = 1 + random.below(round % 3 == 0 ? 3000 : 90);
    const std::int64_t top = 1 + random.below(round % 2 == 0 ? 20 : 700);
    const std::int64_t size = 1 + random.below(9);
    const std::int64_t blocks = (groups + size - 1) / size;
    RandomCase c{Array<float, 2>({rows, groups}), Array<std::int64_t, 1>({rows}),
                 Array<std::int32_t, 2>({rows, round % 5 < 2 ? 0 : blocks + 3}, -1), size, top};
    const std::int64_t kinds = 1 + random.below(round % 7 == 0 ? 2 : 400);
    for (float& v : c.score.at) {
      v = static_cast<float>(random.below(kinds) - kinds / 2);
      if (random.below(8) == 0) v = odd[random.below(5)];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      c.visible.at[static_cast<std::size_t>(row)] = random.below(groups + 1);
      std::int64_t listed = 0;
      for (std::int32_t b = 0; b < blocks && c.block.shape[1] > 0; ++b) {
        if (random.below(3) != 0) c.block.view()[row][listed++] = b;
      }
    }
    expect_equal(c);
  }
}

TEST(SelectionAgreement, WhenOneRowIsCutIntoPieces) {
  Random random(2);
  for (const std::int64_t groups : {524'287, 524'289}) {
    RandomCase c{Array<float, 2>({1, groups}), Array<std::int64_t, 1>({1}, groups), Array<std::int32_t, 2>({1, 0}), 1,
                 512};
    for (float& v : c.score.at) v = static_cast<float>(random.below(3000));
    expect_equal(c);
    for (std::size_t i = 0; i < c.score.at.size(); ++i) c.score.at[i] = static_cast<float>(i / 3);  // ever better
    expect_equal(c);
    c.score = Array<float, 2>({1, groups}, 0);
    expect_equal(c);
  }
}

TEST_P(Selection, RowsWithBlocksAreTheSameAlone) {
  Random random(3);
  RandomCase c{Array<float, 2>({6, 900}), Array<std::int64_t, 1>({6}), Array<std::int32_t, 2>({6, 40}, -1), 8, 128};
  for (float& v : c.score.at) v = static_cast<float>(random.below(50));
  for (std::int64_t& v : c.visible.at) v = random.below(901);
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int32_t b = 0; b < 5 + 7 * row; ++b) c.block.view()[row][b] = 2 * b;
  }
  EXPECT_TRUE(rows_stand_alone(6, [&](std::int64_t first, std::int64_t n) {
    Array<std::int32_t, 2> group({n, 128});
    on.with_threads(2)(&Backend::selection, {c.score.view().part(first, n), c.visible.view().part(first, n),
                                             c.block.view().part(first, n), 8, group});
    return std::vector<float>(group.at.begin(), group.at.end());
  }));
}

TEST(SelectionAgreement, OnNoRowsNoGroupsAndNoPlaces) {
  expect_equal({Array<float, 2>({0, 5}), Array<std::int64_t, 1>({0}), Array<std::int32_t, 2>({0, 0}), 1, 3});
  expect_equal({Array<float, 2>({2, 0}), Array<std::int64_t, 1>({2}), Array<std::int32_t, 2>({2, 0}), 1, 3});
  expect_equal({Array<float, 2>({2, 5}), Array<std::int64_t, 1>({2}, 5), Array<std::int32_t, 2>({2, 0}), 1, 0});
}

}  // namespace
}  // namespace cachalot::selection_test
