// SPDX-License-Identifier: Apache-2.0
#include "kv/sequence.h"

#include <gtest/gtest.h>

#include "kv/test_sequence.h"

namespace cachalot::sequence_test {
namespace {

void expect_position_everywhere(const Sequence& s, std::int64_t position) {
  const HostRows ring = s.ring(0);
  const auto [codes, scales] = ring.rows[position % ring.rows.rows];
  EXPECT_EQ(codes[31], position);
  EXPECT_EQ(scales[0], position);
  EXPECT_EQ(s.inputs(0, position)[31], static_cast<float>(position));
  EXPECT_EQ(s.inputs(0, position)[32], -static_cast<float>(position));
  EXPECT_EQ(s.token_class(position), position);
  EXPECT_EQ(s.dead(position), position % 2);
}

TEST(StateShape, SlackHoldsABlockOfDraftsAndOneMoreInSixteens) {
  EXPECT_EQ(slack_for(0), 16);
  EXPECT_EQ(slack_for(5), 16);
  EXPECT_EQ(slack_for(15), 16);
  EXPECT_EQ(slack_for(16), 32);
}

TEST(StateShape, APageHoldsWholeGroupsAndWholeCandidateBlocks) {
  for (const std::int64_t ratio : {1, 2, 3, 5}) {
    for (const std::int64_t block : {1, 4, 7}) {
      const std::int64_t tokens = page_tokens_for({{2, ratio}, {20, 1}}, block);
      EXPECT_GE(tokens, 256);
      EXPECT_EQ(tokens % (ratio * block), 0);
    }
  }
}

TEST(Sequence, RingsKeepTheNewestPositionsWhateverTheStepSize) {
  for (const std::int64_t step : {1, 2, 7, 19, 20, 21, 50}) {
    Sequence s(small_shape());
    while (s.length() < 100) advance(s, step);
    for (std::int64_t back = 1; back <= 19; ++back) expect_position_everywhere(s, s.length() - back);
  }
}

TEST(Sequence, TruncationTakesBackUpToTheSlackAndNoMore) {
  Sequence s(small_shape());
  for (int i = 0; i < 40; ++i) advance(s, 1);
  EXPECT_FALSE(s.truncate(23));
  EXPECT_EQ(s.length(), 40);
  ASSERT_TRUE(s.truncate(24));
  EXPECT_EQ(s.length(), 24);
  EXPECT_EQ(s.ring(0).rows[20 % 20].codes[0], 20);                          // the whole window is still there,
  for (std::int64_t p = 21; p < 24; ++p) expect_position_everywhere(s, p);  // and what an n-gram or an open group reads
  // What was taken back is gone for good: the slack is not counted anew.
  advance(s, 1);
  EXPECT_FALSE(s.truncate(23));
  EXPECT_TRUE(s.truncate(24));
}

TEST(Sequence, AShortSequenceCanBeTakenBackToItsStart) {
  Sequence s(small_shape());
  advance(s, 16);
  EXPECT_TRUE(s.truncate(0));
  advance(s, 5);
  expect_position_everywhere(s, 4);
}

TEST(Sequence, TheErrorOfATruncationSaysHowFarBackItReaches) {
  Sequence s(small_shape());
  advance(s, 100);
  EXPECT_NE(s.truncate(1).error().message.find("84"), std::string::npos);
}

TEST(Sequence, GroupsAreWrittenPastTheCommittedOnesAndReadByNumber) {
  Sequence s(small_shape());
  for (std::int64_t g = 0; g < 300; ++g) write_group(s, 1, g, static_cast<std::uint8_t>(g));
  const HostRows rows = s.compressed(1, 300), keys = s.index_keys(1, 300);
  for (std::int64_t g = 0; g < 300; ++g) {
    EXPECT_EQ(rows.rows[g].codes[15], static_cast<std::uint8_t>(g));
    EXPECT_EQ(rows.rows[g].scales, rows.rows[g].codes + 16) << "a record";
    EXPECT_EQ(rows.rows[g].scales[1], static_cast<std::uint8_t>(g));
    EXPECT_EQ(keys.rows[g].codes[15], static_cast<std::uint8_t>(g + 1));
    EXPECT_EQ(keys.rows[g].scales[0], static_cast<std::uint8_t>(g + 2));
  }
}

TEST(Sequence, AShareRemembersTheSameAndGoesItsOwnWay) {
  Sequence mine(small_shape());
  advance(mine, 40);
  for (std::int64_t g = 0; g < 40; ++g) write_group(mine, 1, g, static_cast<std::uint8_t>(g));
  Sequence yours = mine.share();
  EXPECT_EQ(yours.length(), 40);
  for (std::int64_t back = 1; back <= 19; ++back) expect_position_everywhere(yours, 40 - back);
  EXPECT_EQ(yours.page(1, 0), mine.page(1, 0));  // no page was copied
  EXPECT_FALSE(yours.truncate(23)) << "it reaches back as far as the other, and no further";
  EXPECT_TRUE(yours.truncate(39));

  advance(mine, 30);
  write_group(mine, 1, 40, 77);
  write_group(yours, 1, 39, 99);
  EXPECT_NE(yours.page(1, 0), mine.page(1, 0));
  EXPECT_EQ(yours.length(), 39);
  for (std::int64_t back = 1; back <= 18; ++back) expect_position_everywhere(yours, 39 - back);
  for (std::int64_t back = 1; back <= 19; ++back) expect_position_everywhere(mine, 70 - back);
  EXPECT_EQ(mine.compressed(1, 41).rows[39].codes[0], 39);
  EXPECT_EQ(yours.compressed(1, 40).rows[39].codes[0], 99);
  EXPECT_EQ(yours.compressed(1, 40).rows[38].codes[0], 38);
}

TEST(Sequence, ASharedPageIsCopiedBeforeItIsWritten) {
  Sequence mine(small_shape());
  const std::int64_t page = mine.shape().page_groups(1);
  for (std::int64_t g = 0; g < page + 2; ++g) write_group(mine, 1, g, static_cast<std::uint8_t>(g));
  Sequence yours = mine.share();
  write_group(yours, 1, page + 1, 99);
  yours.make_groups(1, page + 2, 2 * page + 1);
  EXPECT_EQ(mine.compressed(1, page + 2).rows[page + 1].codes[0], static_cast<std::uint8_t>(page + 1));
  EXPECT_EQ(mine.index_keys(1, page + 2).rows[page].codes[0], static_cast<std::uint8_t>(page + 1));
  EXPECT_EQ(yours.compressed(1, page + 2).rows[page + 1].codes[0], 99);
  EXPECT_EQ(yours.index_keys(1, page + 2).rows[page].codes[0], static_cast<std::uint8_t>(page + 1));
  EXPECT_EQ(mine.page(1, 0), yours.page(1, 0)) << "untouched pages stay shared";
  EXPECT_EQ(3 * mine.page_bytes(), 2 * yours.page_bytes());
}

TEST(SequenceDeathTest, GroupsLeaveNoPageOut) {
  Sequence s(small_shape());
  EXPECT_DEATH(s.make_groups(1, s.shape().page_groups(1) + 1, s.shape().page_groups(1) + 2), "in order");
}

TEST(Sequence, AtTheReleasedShapeATokenCosts890Bytes) {
  StateShape s;
  s.rings = 43;
  s.window = 128;
  s.slack = slack_for(5);
  s.head_dim = 512;
  s.index_head_dim = 128;
  s.history = 3;
  s.sources = {{2, 2}, {8, 2}, {14, 2}, {20, 1}};
  s.page_tokens = page_tokens_for(s.sources, 8);
  Sequence sequence(s);
  const std::int64_t tokens = 16 * s.page_tokens;
  for (std::int64_t i = 0; i < 4; ++i) {
    sequence.make_groups(i, 0, tokens / s.sources[static_cast<std::size_t>(i)].ratio);
  }
  EXPECT_EQ(sequence.page_bytes(), 890 * tokens);
  EXPECT_EQ(s.ring_bytes(), 144 * 528);
}

}  // namespace
}  // namespace cachalot::sequence_test
