// SPDX-License-Identifier: Apache-2.0
#include "engine/draft_pause.h"

#include <gtest/gtest.h>

namespace cachalot::draft_pause_test {
namespace {

// Runs rounds that take so long and make so many tokens; -> those that were drafted.
std::int64_t run(DraftPause& pause, std::int64_t rounds, double plain_seconds, double drafted_seconds,
                 std::int64_t drafted_tokens) {
  std::int64_t drafted = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const bool now = pause.draft_next();
    drafted += now ? 1 : 0;
    pause.note(now, now ? drafted_tokens : 1, now ? drafted_seconds : plain_seconds);
  }
  return drafted;
}

TEST(DraftPause, TriesBothKindsFirst) {
  DraftPause pause;
  EXPECT_EQ(run(pause, DraftPause::trial, 1, 1, 2), 0);
  EXPECT_EQ(run(pause, DraftPause::trial, 1, 1, 2), DraftPause::trial);
}

TEST(DraftPause, DraftsWhileThatIsFasterAndLooksAtPlainRoundsNowAndThen) {
  DraftPause pause;
  const std::int64_t rounds = 100 * (DraftPause::rest + DraftPause::trial);
  const std::int64_t drafted = run(pause, rounds, 1, 1.5, 2);
  EXPECT_GE(drafted, rounds * 9 / 10);
  EXPECT_LT(drafted, rounds);
}

TEST(DraftPause, RestsLongerEachTimeThatDraftingLoses) {
  DraftPause pause;
  const std::int64_t rounds = 10000;
  const std::int64_t drafted = run(pause, rounds, 1, 2.5, 2);
  // trials after 64, 128, 256, 512, 1024, 1024 … plain rounds
  EXPECT_EQ(drafted, DraftPause::trial * (6 + (rounds - 8 - 64 - 128 - 256 - 512 - 1024 - 20) / (1024 + 4)));
}

TEST(DraftPause, ChangesItsMindWhenTheMeasuresChange) {
  DraftPause pause;
  run(pause, 500, 1, 2.5, 2);
  const std::int64_t before = run(pause, 200, 1, 2.5, 2);
  EXPECT_LE(before, 2 * DraftPause::trial);
  run(pause, 3000, 1, 0.5, 2);  // drafts became cheap
  EXPECT_GE(run(pause, 1000, 1, 0.5, 2), 900);
  run(pause, 500, 1, 3, 1);  // and dear again
  EXPECT_LE(run(pause, 200, 1, 3, 1), 2 * DraftPause::trial);
}

TEST(DraftPause, AWinForgetsTheLongRest) {
  DraftPause pause;
  run(pause, 5000, 1, 2.5, 2);  // it lost until its rest was the longest
  run(pause, 3000, 1, 0.5, 2);  // and won
  ASSERT_TRUE(pause.draft_next());
  const auto rounds_until = [&](bool drafting) {
    std::int64_t rounds = 0;
    for (; pause.draft_next() != drafting && rounds < 5000; ++rounds) run(pause, 1, 1, 10, 1);
    return rounds;
  };
  // It is dear again: the trial of plain rounds shows it, the next rest is a short one, the one after it twice as long.
  do {
    rounds_until(false);
    if (const std::int64_t plain = rounds_until(true); plain > DraftPause::trial) {
      EXPECT_EQ(plain, DraftPause::trial + DraftPause::rest);
      break;
    }
  } while (true);
  EXPECT_EQ(rounds_until(false), DraftPause::trial);
  EXPECT_EQ(rounds_until(true), 2 * DraftPause::rest);
}

TEST(DraftPause, RoundsThatCouldNotDraftAreNoPartOfATrial) {
  DraftPause pause;
  run(pause, DraftPause::trial, 1, 1, 2);
  ASSERT_TRUE(pause.draft_next());
  for (int i = 0; i < 100; ++i) pause.note(false, 1, 1);
  EXPECT_TRUE(pause.draft_next());
}

}  // namespace
}  // namespace cachalot::draft_pause_test
