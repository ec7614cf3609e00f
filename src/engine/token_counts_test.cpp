// SPDX-License-Identifier: Apache-2.0
#include "engine/token_counts.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

namespace cachalot::token_counts_test {
namespace {

using Rows = std::vector<std::tuple<std::int32_t, std::int64_t, bool>>;

Rows rows(const TokenCounts& counts) {
  Rows all;
  for (const TokenCounts::Entry& e : counts.entries()) all.emplace_back(raw(e.id), e.made, e.in_prompt);
  return all;
}

TEST(TokenCounts, HoldEachTokenOnceByItsFirstOccurrence) {
  TokenCounts counts;
  EXPECT_TRUE(rows(counts).empty());
  for (const std::int32_t id : {5, 2, 5}) counts.add_prompt(TokenId{id});
  for (const std::int32_t id : {2, 129279, 0, 129279}) counts.push(TokenId{id});
  EXPECT_EQ(rows(counts), (Rows{{5, 0, true}, {2, 1, true}, {129279, 2, false}, {0, 1, false}}));
  counts.clear();
  EXPECT_TRUE(rows(counts).empty());
  counts.push(TokenId{5});
  EXPECT_EQ(rows(counts), (Rows{{5, 1, false}})) << "nothing of what was cleared is left";
}

TEST(TokenCounts, AfterAnyPushesAndPopsAreThoseOfTheTokensThatAreLeft) {
  std::mt19937 random(3);
  TokenCounts counts;
  std::vector<TokenId> left;
  for (const std::int32_t id : {1, 4}) counts.add_prompt(TokenId{id});
  for (int i = 0; i < 2000; ++i) {
    if (!left.empty() && random() % 2 == 0) {
      counts.pop(left.back());
      left.pop_back();
    } else {
      left.push_back(TokenId{static_cast<std::int32_t>(random() % 8)});
      counts.push(left.back());
    }
    TokenCounts anew;
    for (const std::int32_t id : {1, 4}) anew.add_prompt(TokenId{id});
    for (const TokenId t : left) anew.push(t);
    ASSERT_EQ(rows(counts), rows(anew)) << "step " << i;
  }
}

TEST(TokenCountsDeathTest, OnlyTheNewestTokenCanBeTakenBack) {
  TokenCounts counts;
  counts.push(TokenId{1});
  counts.push(TokenId{2});
  EXPECT_DEATH(counts.pop(TokenId{1}), "newest first");
  EXPECT_DEATH(counts.pop(TokenId{3}), "was pushed");
}

}  // namespace
}  // namespace cachalot::token_counts_test
