// SPDX-License-Identifier: Apache-2.0
// What a replayed prompt (spec 11) leaves in a sequence, and how far back that goes.
#include <gtest/gtest.h>

#include "kv/test_sequence.h"

namespace cachalot::sequence_replay_test {
namespace {

// Two rings; the second one is of a layer that a replay leaves out.
StateShape two_rings() {
  StateShape shape = small_shape();
  shape.rings = 2;
  return shape;
}

// `rows` positions, of which the first `global_only` leave nothing in the second ring.
void replay(Sequence& s, std::int64_t rows, std::int64_t global_only) {
  write_window(s, 0, s.length(), rows);
  write_window(s, 1, s.length() + global_only, rows - global_only);
  write_inputs(s, rows);
  const Leftovers all(s, rows);
  StepState state = all.state();
  state.global_only = global_only;
  s.commit(state);
}

std::int64_t position_in(const Sequence& s, std::int64_t ring, std::int64_t position) {
  const HostRows rows = s.ring(ring);
  return rows.rows[position % rows.rows.rows].codes[0];
}

TEST(SequenceReplay, TheTailIsInItsPlaceAndNothingElseIsWritten) {
  Sequence s(two_rings());
  replay(s, 30, 26);
  EXPECT_EQ(s.length(), 30);
  EXPECT_EQ(s.tail_start(), 26);
  EXPECT_TRUE(s.replayed());
  for (std::int64_t p = 11; p < 30; ++p) EXPECT_EQ(position_in(s, 0, p), p);
  for (std::int64_t p = 26; p < 30; ++p) EXPECT_EQ(position_in(s, 1, p), p);
  for (std::int64_t p = 11; p < 26; ++p) EXPECT_EQ(position_in(s, 1, p), 0) << p;
  EXPECT_EQ(s.inputs(0, 29)[0], 29.0f);
  EXPECT_EQ(s.token_class(29), 29);
}

TEST(SequenceReplay, StepsOfAnySizeLeaveTheSameTail) {
  for (const std::int64_t chunk : {1, 3, 7, 30}) {
    Sequence s(two_rings());
    while (s.length() < 30) {
      const std::int64_t rows = std::min(chunk, 30 - s.length());
      replay(s, rows, std::clamp<std::int64_t>(26 - s.length(), 0, rows));
    }
    EXPECT_EQ(s.tail_start(), 26);
    for (std::int64_t p = 26; p < 30; ++p) EXPECT_EQ(position_in(s, 1, p), p);
    EXPECT_EQ(s.reachable(), 29);
  }
}

TEST(SequenceReplay, WithoutRowsForTheGlobalStateAloneASequenceIsExact) {
  Sequence s(two_rings());
  replay(s, 30, 0);
  EXPECT_FALSE(s.replayed());
  EXPECT_EQ(s.tail_start(), 0);
  EXPECT_EQ(s.reachable(), 14);
  EXPECT_TRUE(s.whole_window_at(0));
}

// The window is 4: position p reads p - 3 to p.
TEST(SequenceReplay, GoesBackToWhereTheNextWindowIsWholeAndNoFurther) {
  Sequence s(two_rings());
  replay(s, 30, 20);
  EXPECT_EQ(s.reachable(), 23);
  EXPECT_FALSE(s.whole_window_at(22));
  EXPECT_TRUE(s.whole_window_at(23));
  const Status refused = s.truncate(22);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::range);
  EXPECT_NE(refused.error().message.find("reaches back to 23"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("replayed prompt"), std::string::npos) << refused.error().message;
  EXPECT_EQ(s.length(), 30);
  EXPECT_TRUE(s.truncate(23));
  EXPECT_TRUE(s.replayed());
  replay(s, 30, 0);
  EXPECT_EQ(s.reachable(), 37) << "the slack again, once it is the nearer of the two";
  EXPECT_EQ(s.truncate(36).error().message.find("replayed"), std::string::npos);
}

TEST(SequenceReplay, WithinAPromptItStaysWhereItIs) {
  Sequence s(two_rings());
  replay(s, 10, 10);
  EXPECT_EQ(s.tail_start(), 10);
  EXPECT_EQ(s.reachable(), 10);
  EXPECT_TRUE(s.truncate(10));
  EXPECT_FALSE(s.truncate(9));
  replay(s, 2, 0);
  EXPECT_EQ(s.reachable(), 12);
  EXPECT_FALSE(s.truncate(11)) << "its window would begin at 8";
}

TEST(SequenceReplay, ASecondPromptHasATailOfItsOwn) {
  Sequence s(two_rings());
  replay(s, 10, 6);
  replay(s, 5, 0);
  EXPECT_EQ(s.tail_start(), 6) << "a prompt no longer than the tail goes on from what there is";
  replay(s, 20, 16);
  EXPECT_EQ(s.tail_start(), 31);
  EXPECT_EQ(s.reachable(), 34);
}

TEST(SequenceReplay, AShareKnowsThatItWasReplayed) {
  Sequence s(two_rings());
  replay(s, 30, 26);
  const Sequence other = s.share();
  EXPECT_EQ(other.tail_start(), 26);
  EXPECT_TRUE(other.replayed());
  EXPECT_EQ(other.reachable(), 29);
}

TEST(SequenceReplayDeathTest, AReplayedStateIsNotKeptAsBytes) {
  Sequence s(small_shape());
  Leftovers text(s, 30);
  std::ranges::fill(text.dead, std::uint8_t{0});
  StepState state = text.state();
  state.global_only = 26;
  s.commit(state);
  EXPECT_DEATH(s.each_part([](std::span<const std::byte>) {}), "replayed state is not kept");
}

}  // namespace
}  // namespace cachalot::sequence_replay_test
