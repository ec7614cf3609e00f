// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include "kv/test_sequence.h"

namespace cachalot::prefix_cache_test {
namespace {

std::vector<TokenId> text(std::int64_t n, std::int32_t which = 0) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(TokenId{static_cast<std::int32_t>(i * 31 % 97 + 1000 * which)});
  return ids;
}

// `before`, then another text up to n tokens.
std::vector<TokenId> fork(std::vector<TokenId> before, std::int64_t n, std::int32_t which) {
  const auto other = text(n, which);
  before.insert(before.end(), other.begin() + std::ssize(before), other.end());
  return before;
}

Sequence at(std::int64_t length) {
  Sequence s(small_shape());
  while (s.length() < length) run(s, std::min<std::int64_t>(3, length - s.length()));
  return s;
}

void keep(PrefixCache& cache, const std::vector<TokenId>& ids, SnapshotKind kind = SnapshotKind::end) {
  cache.insert(ids, at(std::ssize(ids)), kind);
}

std::int64_t hit(PrefixCache& cache, const std::vector<TokenId>& prompt) {
  const auto found = cache.find(prompt);
  return found ? found->length() : 0;
}

// What one snapshot of n positions takes.
std::int64_t bytes_of_one(std::int64_t n) {
  PrefixCache cache;
  keep(cache, text(n));
  return cache.stats().bytes;
}

TEST(PrefixCache, ServesEveryBeginningWithinTheSlackAndNothingElse) {
  for (const std::int64_t s : {1, 15, 16, 17, 60, 300}) {
    PrefixCache cache;
    keep(cache, text(s));
    for (std::int64_t same = 1; same <= s + 3; ++same) {
      const std::int64_t common = std::min(same, s);
      EXPECT_EQ(hit(cache, fork(text(common), common + 20, 7)), common >= s - 16 ? common : 0) << s << " " << same;
      const std::int64_t whole = std::min(same - 1, s);  // its last token is always run
      EXPECT_EQ(hit(cache, text(same)), whole >= std::max<std::int64_t>(0, s - 16) ? whole : 0) << s << " " << same;
    }
  }
}

TEST(PrefixCache, FiftyOfSixtySharedTokensAreNotRunAgain) {
  PrefixCache cache;
  keep(cache, text(60));
  EXPECT_EQ(hit(cache, fork(text(50), 60, 3)), 50);
  EXPECT_EQ(hit(cache, fork(text(43), 60, 3)), 0) << "further back than the slack";
}

TEST(PrefixCache, TheLongestBeginningWins) {
  PrefixCache cache;
  for (const std::int64_t n : {30, 90, 60}) keep(cache, text(n));
  keep(cache, fork(text(70), 95, 5));
  EXPECT_EQ(hit(cache, text(200)), 90);
  EXPECT_EQ(hit(cache, text(90)), 89);
  EXPECT_EQ(hit(cache, text(62)), 60);
  EXPECT_EQ(hit(cache, text(40)), 30);
  EXPECT_EQ(hit(cache, fork(text(70), 200, 5)), 95);
  EXPECT_EQ(hit(cache, fork(text(75), 200, 6)), 75) << "90 goes back to 74";
  EXPECT_EQ(hit(cache, fork(text(73), 200, 6)), 60);
}

TEST(PrefixCache, IdsAreComparedWhereHashesAreEqual) {
  PrefixCacheOptions options;
  options.hash = [](std::uint64_t, TokenId) { return std::uint64_t{0}; };
  PrefixCache cache(options);
  for (std::int32_t which = 0; which < 5; ++which) keep(cache, fork(text(20), 60 + which, which));
  for (std::int32_t which = 0; which < 5; ++which) {
    EXPECT_EQ(hit(cache, fork(text(20), 100, which)), 60 + which);
  }
  EXPECT_EQ(hit(cache, text(100, 6)), 0);
  EXPECT_EQ(hit(cache, fork(text(20), 100, 6)), 0);
}

TEST(PrefixCache, AHitHoldsWhatTheSnapshotHeldAndGoesItsOwnWay) {
  PrefixCache cache;
  const Sequence original = at(300);
  cache.insert(text(300), original, SnapshotKind::end);
  const auto want = bytes_of(original);
  for (int round = 0; round < 2; ++round) {
    auto found = cache.find(text(301));
    ASSERT_TRUE(found);
    EXPECT_EQ(bytes_of(*found), want);
    run(*found, 50, 9);
    auto back = cache.find(fork(text(290), 301, 4));
    ASSERT_TRUE(back);
    run(*back, 50, 11);
    EXPECT_EQ(bytes_of(original), want);
  }
}

TEST(PrefixCache, ASnapshotOutlivesNothingAndAHitOutlivesItsSnapshot) {
  PrefixCache cache;
  keep(cache, text(300));
  const auto found = cache.find(text(301));
  ASSERT_TRUE(found);
  const auto before = bytes_of(*found);
  cache.clear();
  EXPECT_EQ(cache.stats().bytes, 0);
  EXPECT_EQ(cache.stats().entries, 0);
  EXPECT_EQ(bytes_of(*found), before);
  EXPECT_EQ(hit(cache, text(301)), 0);
}

TEST(PrefixCache, PagesThatSnapshotsShareCountOnce) {
  PrefixCache cache;
  Sequence s = at(264 * 4);  // whole pages
  cache.insert(text(s.length()), s, SnapshotKind::end);
  const std::int64_t first = cache.stats().bytes;
  EXPECT_EQ(first - s.page_bytes(), bytes_of_one(1) + 4 * (s.length() - 1) - at(1).page_bytes());
  const std::int64_t pages = s.page_bytes();
  run(s, 1);
  cache.insert(text(s.length()), s, SnapshotKind::end);
  EXPECT_EQ(cache.stats().bytes, 2 * first - pages + 4 + (s.page_bytes() - pages));
  cache.clear();
  EXPECT_EQ(cache.stats().bytes, 0);
}

TEST(PrefixCache, TheSameIdsAgainRefreshAndDoNotAdd) {
  PrefixCache cache({.budget = 2 * bytes_of_one(60)});
  keep(cache, text(60, 1));
  keep(cache, text(60, 2));
  keep(cache, text(60, 1));
  EXPECT_EQ(cache.stats().entries, 2);
  keep(cache, text(60, 3));
  EXPECT_EQ(cache.stats().entries, 2);
  EXPECT_EQ(hit(cache, text(61, 2)), 0) << "it was used longest ago";
  EXPECT_EQ(hit(cache, text(61, 1)), 60);
}

TEST(PrefixCache, OfTwoWithTheSameIdsTheOneThatReachesFurtherBackStays) {
  Sequence far = at(70);
  ASSERT_TRUE(far.truncate(60));  // goes back to 54
  for (const bool far_first : {true, false}) {
    PrefixCache cache;
    if (far_first) cache.insert(text(60), far, SnapshotKind::end);
    keep(cache, text(60), SnapshotKind::periodic);
    if (!far_first) cache.insert(text(60), far, SnapshotKind::end);
    EXPECT_EQ(cache.stats().entries, 1);
    EXPECT_EQ(hit(cache, fork(text(44), 80, 2)), 44);
  }
}

TEST(PrefixCache, TheOneUsedLongestAgoGoesFirst) {
  PrefixCache cache({.budget = 3 * bytes_of_one(60)});
  for (const int which : {1, 2, 3}) keep(cache, text(60, which));
  EXPECT_EQ(hit(cache, text(61, 1)), 60);
  keep(cache, text(60, 4));
  EXPECT_EQ(hit(cache, text(61, 2)), 0);
  for (const int which : {1, 3, 4}) EXPECT_EQ(hit(cache, text(61, which)), 60) << which;
  EXPECT_EQ(cache.stats().evictions, 1);
}

// Room for two ends: each new one must stay, and so must the other conversation's newest.
TEST(PrefixCache, TwoConversationsThatAlternateKeepTheirNewestInABudgetOfTwo) {
  const std::int64_t turns = 20;
  PrefixCache cache({.budget = 2 * bytes_of_one(10 * turns + 10)});
  for (std::int64_t turn = 1; turn <= turns; ++turn) {
    for (const int which : {1, 2}) {
      EXPECT_EQ(hit(cache, text(10 * turn, which)), turn == 1 ? 0 : 10 * turn - 5);
      keep(cache, text(10 * turn + 5, which));
      EXPECT_LE(cache.stats().bytes, cache.options().budget);
    }
  }
}

TEST(PrefixCache, InABudgetOfOneTheNewestStays) {
  PrefixCache cache({.budget = bytes_of_one(60)});
  for (const int which : {1, 2, 1, 2, 2}) {
    keep(cache, text(60, which));
    EXPECT_EQ(hit(cache, text(61, which)), 60);
    EXPECT_EQ(cache.stats().entries, 1);
  }
}

TEST(PrefixCache, AConversationKeepsItsNewestHeaderAndEnd) {
  PrefixCache cache({.budget = 4 * bytes_of_one(200)});
  for (std::int64_t turn = 1; turn <= 4; ++turn) {
    for (const int which : {1, 2}) {
      keep(cache, text(40 * turn, which), SnapshotKind::header);
      keep(cache, text(40 * turn + 25, which), SnapshotKind::end);
    }
  }
  for (const int which : {1, 2}) {
    EXPECT_EQ(hit(cache, text(186, which)), 185);
    EXPECT_EQ(hit(cache, fork(text(160, which), 190, 5)), 160);
  }
}

TEST(PrefixCache, ABeginningThatManyShareOutlivesConversations) {
  PrefixCache cache({.budget = 3 * bytes_of_one(100)});
  keep(cache, text(50), SnapshotKind::periodic);
  for (std::int32_t which = 1; which < 10; ++which) {
    EXPECT_EQ(hit(cache, fork(text(50), 100, which)), 50);
    keep(cache, fork(text(50), 100, which));
  }
}

TEST(PrefixCache, WhatIsLargerThanTheBudgetIsNotKeptAndThatIsTold) {
  PrefixCache cache({.budget = bytes_of_one(60)});
  keep(cache, text(60, 1));
  keep(cache, text(600, 2));
  EXPECT_EQ(cache.stats().too_large, 1);
  EXPECT_EQ(cache.stats().entries, 1);
  EXPECT_EQ(hit(cache, text(61, 1)), 60) << "nothing had to go for it";
  PrefixCache none({.budget = 0});
  keep(none, text(1));
  EXPECT_EQ(none.stats().too_large, 1);
}

TEST(PrefixCache, AStateWithImagesOrOneThatWasReplayedIsNotKept) {
  PrefixCache cache;
  Sequence s = at(20);
  Leftovers image(s, 1);
  image.dead = {1};
  s.commit(image.state());
  cache.insert(text(21), s, SnapshotKind::end);
  EXPECT_EQ(cache.stats().entries, 0);
  EXPECT_EQ(cache.stats().refused, 1);
  Sequence replayed = at(20);
  Leftovers rows(replayed, 9);
  std::ranges::fill(rows.dead, std::uint8_t{0});
  StepState step = rows.state();
  step.global_only = 4;
  replayed.commit(step);
  cache.insert(text(29), replayed, SnapshotKind::end);
  EXPECT_EQ(cache.stats().entries, 0);
  EXPECT_EQ(cache.stats().refused, 2);
}

// As it reads in the header: 8 of them, then every second, fourth, ...
TEST(PrefixCache, OlderPeriodicSnapshotsThinOutAndOthersStay) {
  constexpr std::int64_t every = 8, n = 1024;
  PrefixCache cache({.snapshot_every = every});
  Sequence s(small_shape());
  const auto ids = text(n);
  keep(cache, text(11), SnapshotKind::header);
  for (std::int64_t length = every; length <= n; length += every) {
    run(s, every);
    cache.insert(std::span(ids).first(static_cast<std::size_t>(length)), s, SnapshotKind::periodic);
  }
  EXPECT_LE(cache.stats().entries, 1 + 8 + 4 * 4 + 1);
  EXPECT_EQ(cache.stats().entries + cache.stats().thinned, 1 + n / every);
  EXPECT_EQ(hit(cache, fork(text(11), 100, 2)), 11);
  for (std::int64_t length = every; length <= n; length += every) {
    const std::int64_t age = (n - length) / every;
    const std::int64_t stride = age <= 8 ? 1 : age <= 16 ? 2 : age <= 32 ? 4 : age <= 64 ? 8 : 16;
    // The slack of 16 positions reaches over one snapshot: ask a token further back than those behind it.
    const auto found = cache.find(fork(text(length), length + 1, 9));
    const std::int64_t got = found ? found->length() : 0;
    if (length / every % stride == 0) {
      EXPECT_EQ(got, length);
    } else {
      EXPECT_GE(got, length - stride * every);
    }
  }
}

// As the header of the class reads: at most answer_every, or a quarter of what has to be run anyway.
TEST(PrefixCache, WithinAnAnswerWhatIsRunMoreIsBounded) {
  constexpr std::int64_t every = 32, n = 2048;
  PrefixCache cache({.answer_every = every});
  Sequence s = at(11);
  const auto ids = text(n);
  cache.insert(text(11), s, SnapshotKind::header);
  while (s.length() < n) {
    run(s, std::min(every - s.length() % every, n - s.length()));
    cache.insert(std::span(ids).first(static_cast<std::size_t>(s.length())), s, SnapshotKind::answer);
  }
  cache.insert(ids, s, SnapshotKind::end);
  EXPECT_LE(cache.stats().entries, 2 + 8 + 4 * 3 + 1);
  for (std::int64_t common = 12; common < n; common += 5) {
    EXPECT_GE(hit(cache, fork(text(common), common + 3, 2)), common - std::max(every, (n - common) / 4)) << common;
  }
}

TEST(PrefixCache, AStateWithinAnAnswerTakesNoOthersPlaceAndLeavesItsHeaderOne) {
  for (const std::int64_t room : {3, 4}) {
    PrefixCache cache({.budget = room * bytes_of_one(200), .answer_every = 16});
    keep(cache, text(150, 1), SnapshotKind::header);
    keep(cache, text(190, 1), SnapshotKind::end);
    keep(cache, text(40, 2), SnapshotKind::header);
    for (std::int64_t n = 48; n < 180; n += 16) keep(cache, text(n, 2), SnapshotKind::answer);
    EXPECT_LE(cache.stats().bytes, cache.options().budget);
    EXPECT_EQ(cache.stats().entries, room);
    if (room == 4) keep(cache, text(180, 2), SnapshotKind::end);
    EXPECT_EQ(hit(cache, text(191, 1)), 190);
    EXPECT_EQ(hit(cache, fork(text(150, 1), 170, 3)), 150);
    EXPECT_EQ(hit(cache, text(181, 2)), room == 4 ? 180 : 40);
    EXPECT_EQ(hit(cache, fork(text(40, 2), 60, 3)), 40);
  }
}

TEST(PrefixCache, TellsHitsMissesAndCachedTokens) {
  PrefixCache cache;
  EXPECT_EQ(hit(cache, text(1)), 0);
  keep(cache, text(60));
  EXPECT_EQ(hit(cache, text(61)), 60);
  EXPECT_EQ(hit(cache, text(50)), 49);
  EXPECT_EQ(hit(cache, text(50, 2)), 0);
  EXPECT_EQ(cache.stats().hits, 2);
  EXPECT_EQ(cache.stats().misses, 2);
  EXPECT_EQ(cache.stats().cached_tokens, 109);
}

TEST(PrefixCacheDeathTest, OtherThanAsManyIdsAsPositionsIsOurMistake) {
  PrefixCache cache;
  EXPECT_DEATH(cache.insert(text(5), at(6), SnapshotKind::end), "as many ids");
}

}  // namespace
}  // namespace cachalot::prefix_cache_test
