// SPDX-License-Identifier: Apache-2.0
#include "kv/sequence.h"

#include <gtest/gtest.h>

#include "kv/test_sequence.h"

namespace cachalot {
namespace {

void expect_position_everywhere(const Sequence& s, std::int64_t position) {
  const PackedRows ring = s.ring(0);
  const std::int64_t slot = position % ring.rows;
  EXPECT_EQ(ring.codes[slot * 33], position);
  EXPECT_EQ(ring.scales[slot * 33], position);
  EXPECT_EQ(s.group_kv(0, position)[31], static_cast<float>(position));
  EXPECT_EQ(s.group_score(0, position)[0], -static_cast<float>(position));
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
  EXPECT_EQ(s.ring(0).codes[20 % 20 * 33], 20);                             // the whole window is still there,
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
  for (std::int64_t g = 0; g < 300; ++g) {
    const RowSlot slot = s.compressed_slot(1, g);
    std::fill_n(slot.codes, 16, static_cast<std::uint8_t>(g));
    std::fill_n(slot.scales, 2, static_cast<std::uint8_t>(g / 2));
  }
  const PagedRows rows = s.compressed(1, 300);
  for (std::int64_t g = 0; g < 300; ++g) {
    const std::uint8_t* record = rows.pages[static_cast<std::size_t>(g / rows.page_rows)] + g % rows.page_rows * 18;
    EXPECT_EQ(record[15], static_cast<std::uint8_t>(g));
    EXPECT_EQ(record[16], static_cast<std::uint8_t>(g / 2));
  }
}

TEST(Sequence, AShareRemembersTheSameAndGoesItsOwnWay) {
  Sequence mine(small_shape());
  advance(mine, 40);
  for (std::int64_t g = 0; g < 40; ++g) *mine.compressed_slot(1, g).codes = static_cast<std::uint8_t>(g);
  Sequence yours = mine.share();
  EXPECT_EQ(yours.length(), 40);
  for (std::int64_t back = 1; back <= 19; ++back) expect_position_everywhere(yours, 40 - back);
  EXPECT_EQ(yours.compressed(1, 40).pages[0], mine.compressed(1, 40).pages[0]);  // no page was copied
  EXPECT_FALSE(yours.truncate(23)) << "it reaches back as far as the other, and no further";
  EXPECT_TRUE(yours.truncate(39));

  advance(mine, 30);
  *mine.compressed_slot(1, 40).codes = 77;
  *yours.compressed_slot(1, 39).codes = 99;
  EXPECT_EQ(yours.length(), 39);
  for (std::int64_t back = 1; back <= 18; ++back) expect_position_everywhere(yours, 39 - back);
  for (std::int64_t back = 1; back <= 19; ++back) expect_position_everywhere(mine, 70 - back);
  EXPECT_EQ(mine.compressed(1, 41).pages[0][39 * 18], 39);
  EXPECT_EQ(yours.compressed(1, 40).pages[0][39 * 18], 99);
  EXPECT_EQ(yours.compressed(1, 40).pages[0][38 * 18], 38);
}

TEST(PagedStore, ASharedPageIsCopiedBeforeItIsWritten) {
  PagedStore mine(RowFormat::e2m1_e8m0_32, RowLayout::planes, 32, 4);
  for (std::int64_t r = 0; r < 6; ++r) *mine.slot(r).codes = static_cast<std::uint8_t>(r);
  PagedStore yours = mine.share();
  *yours.slot(5).codes = 99;
  *yours.slot(8).codes = 98;
  EXPECT_EQ(mine.view(6).pages[1][16], 5);
  EXPECT_EQ(yours.view(6).pages[1][16], 99);
  EXPECT_EQ(mine.view(6).pages[0], yours.view(6).pages[0]);  // untouched pages stay shared
  EXPECT_EQ(mine.bytes(), 2 * mine.page_bytes());
  EXPECT_EQ(yours.bytes(), 3 * mine.page_bytes());
}

TEST(PagedStore, ShrinkingGivesBackWholePagesOnly) {
  PagedStore s(RowFormat::e2m1_e4m3_16, RowLayout::records, 16, 4);
  for (std::int64_t r = 0; r < 9; ++r) s.slot(r);
  s.shrink(5);
  EXPECT_EQ(s.bytes(), 2 * s.page_bytes());
  s.shrink(0);
  EXPECT_EQ(s.bytes(), 0);
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
    for (std::int64_t g = 0; g < tokens / s.sources[static_cast<std::size_t>(i)].ratio; ++g) {
      sequence.compressed_slot(i, g);
      sequence.index_key_slot(i, g);
    }
  }
  EXPECT_EQ(sequence.page_bytes(), 890 * tokens);
  EXPECT_EQ(WindowRing(144, 512).bytes(), 144 * 528);
}

}  // namespace
}  // namespace cachalot
