// SPDX-License-Identifier: Apache-2.0
// States from the prefix cache and from files, against runs that never saw either: the same bits, wherever they go on.
#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/process_memory.h"
#include "base/test_folder.h"
#include "checkpoint/test_checkpoint.h"
#include "engine/state_key.h"
#include "kv/prefix_store.h"
#include "sequence_runner.h"

namespace cachalot::prefix_cache_test {
namespace {

const Model& model_with_drafts() {
  static const Model model = load_mini_a({.backend = &cpu_under_test(), .drafts = true});
  return model;
}

std::vector<TokenId> random_text(std::int64_t n, std::uint32_t seed) {
  std::vector<TokenId> ids;
  for (const Row& row : random_rows(n, seed, model_with_drafts().config().vocab_size)) ids.push_back(row.token);
  return ids;
}

std::vector<TokenId> first(const std::vector<TokenId>& ids, std::int64_t n) { return {ids.begin(), ids.begin() + n}; }

// Runs `ids` in one step; logits of every row, one after the other.
std::vector<float> run(Sequence& sequence, std::span<const TokenId> ids) {
  static Context context(1, model_with_drafts().memory());
  Sequence* const one[] = {&sequence};
  std::vector<Row> rows;
  for (const TokenId id : ids) rows.push_back({.token = id, .wants_logits = true});
  std::vector<float> logits;
  const Status ran = model_with_drafts().forward(context, {one, rows, nullptr, nullptr}, logits);
  EXPECT_TRUE(ran) << ran.error().message;
  return logits;
}

std::vector<float> draft(Sequence& sequence) {
  static Context context(1, model_with_drafts().memory());
  Sequence* const one[] = {&sequence};
  const TokenId next[] = {TokenId{5}};
  const auto drafts = model_with_drafts().draft(context, one, next);
  EXPECT_TRUE(drafts);
  return drafts ? drafts->logits : std::vector<float>();
}

// What the plain run of a text gives.
struct Cold {
  std::vector<TokenId> ids;
  std::vector<std::vector<float>> logits;  // of each position
  std::vector<std::vector<float>> drafts;  // of a block behind each length

  explicit Cold(std::int64_t n, std::uint32_t seed = 1) : ids(random_text(n, seed)) {
    Sequence s = model_with_drafts().new_sequence();
    drafts.emplace_back();
    for (const TokenId& id : ids) {
      logits.push_back(run(s, {&id, 1}));
      drafts.push_back(draft(s));
    }
  }
  std::vector<float> logits_of(std::int64_t begin, std::int64_t end) const {
    std::vector<float> all;
    for (std::int64_t p = begin; p < end; ++p)
      all.insert(all.end(), logits[static_cast<std::size_t>(p)].begin(), logits[static_cast<std::size_t>(p)].end());
    return all;
  }
};

const Cold& cold() {
  static const Cold one(260);
  return one;
}

// Snapshots of the text at every multiple of 16, taken in chunks.
void fill(PrefixCache& cache, const std::vector<TokenId>& ids) {
  Sequence s = model_with_drafts().new_sequence();
  for (std::int64_t length = 16; length <= std::ssize(ids); length += 16) {
    run(s, std::span(ids).subspan(static_cast<std::size_t>(length - 16), 16));
    cache.insert(std::span(ids).first(static_cast<std::size_t>(length)), s, SnapshotKind::header);
  }
}

// Odd lengths, the borders of groups, windows and rings, and every other: as the run that never stopped, drafts too.
TEST(PrefixCacheBits, AHitAtEveryLengthGoesOnAsIfNothingHadBeenCached) {
  PrefixCache cache;
  fill(cache, cold().ids);
  for (std::int64_t length = 1; length <= 200; ++length) {
    auto hit = cache.find(first(cold().ids, length + 1));
    ASSERT_TRUE(hit);
    ASSERT_EQ(hit->length(), length);
    ASSERT_TRUE(same_bits(draft(*hit), cold().drafts[static_cast<std::size_t>(length)])) << length;
    const std::int64_t n = 1 + length % 13;
    const auto rest = std::span(cold().ids).subspan(static_cast<std::size_t>(length), static_cast<std::size_t>(n));
    ASSERT_TRUE(same_bits(run(*hit, rest), cold().logits_of(length, length + n))) << length;
    ASSERT_TRUE(same_bits(draft(*hit), cold().drafts[static_cast<std::size_t>(length + n)])) << length;
  }
}

// What a hit runs on, and whatever other text it runs, leaves every byte of the snapshots alone.
TEST(PrefixCacheBits, NoForkOfAHitDisturbsASnapshotOrAnotherHit) {
  PrefixCache cache;
  fill(cache, first(cold().ids, 64));
  const auto all = [&] {
    std::vector<std::uint64_t> hashes;
    for (std::int64_t length = 16; length <= 64; length += 16)
      hashes.push_back(hash_of(*cache.find(first(cold().ids, length + 1))));
    return hashes;
  };
  const auto before = all();
  const auto other = random_text(40, 9);
  for (std::int64_t length = 1; length <= 60; length += 1 + length % 4) {
    auto one = cache.find(first(cold().ids, length + 1)), two = cache.find(first(cold().ids, length + 1));
    run(*one, other);
    ASSERT_EQ(all(), before) << length;
    const auto rest = std::span(cold().ids).subspan(static_cast<std::size_t>(length), 30);
    ASSERT_TRUE(same_bits(run(*two, rest), cold().logits_of(length, length + 30))) << length;
  }
}

TEST(PrefixCacheBits, TwoConversationsInTurnsAreEachAsIfAlone) {
  const Cold a(120, 3), b(120, 4);
  PrefixCache cache;
  for (std::int64_t length = 0; length + 17 < 120; length += 17) {
    for (const Cold* text : {&a, &b}) {
      auto hit = cache.find(first(text->ids, length + 1));
      ASSERT_EQ(hit ? hit->length() : 0, length);
      Sequence s = hit ? std::move(*hit) : model_with_drafts().new_sequence();
      const auto next = std::span(text->ids).subspan(static_cast<std::size_t>(length), 17);
      ASSERT_TRUE(same_bits(run(s, next), text->logits_of(length, length + 17)));
      cache.insert(first(text->ids, length + 17), s, SnapshotKind::end);
    }
  }
}

TEST(PrefixCacheBits, AStateFromAFileGoesOnAsIfItHadNeverBeenWritten) {
  const TestFolder folder;
  const auto open = [&] {
    return *PrefixStore::open({.folder = folder.path(),
                               .key = *state_key(model_with_drafts(), *Checkpoint::open(mini_a())),
                               .pools = model_with_drafts().state_pools()});
  };
  for (const std::int64_t length : {1, 7, 16, 33, 64, 127, 128, 145, 200}) {
    Sequence s = model_with_drafts().new_sequence();
    run(s, std::span(cold().ids).first(static_cast<std::size_t>(length)));
    ASSERT_TRUE(open().save(first(cold().ids, length), s, SnapshotKind::end));
    for (const std::int64_t at : {length, std::max<std::int64_t>(1, length - 3)}) {
      auto found = open().find(first(cold().ids, at + 1), 0);
      ASSERT_TRUE(found);
      ASSERT_TRUE(found->sequence.truncate(at));
      const auto rest = std::span(cold().ids).subspan(static_cast<std::size_t>(at), 40);
      ASSERT_TRUE(same_bits(draft(found->sequence), cold().drafts[static_cast<std::size_t>(at)])) << length;
      ASSERT_TRUE(same_bits(run(found->sequence, rest), cold().logits_of(at, at + 40))) << length;
      ASSERT_TRUE(same_bits(draft(found->sequence), cold().drafts[static_cast<std::size_t>(at + 40)])) << length;
    }
  }
}

// Any order of requests over a few conversations, within a budget of some snapshots.
void serve(PrefixCache& cache, std::int64_t requests, std::uint32_t seed,
           const std::function<void(std::int64_t)>& served) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<std::vector<TokenId>> chats(5);
  for (std::int64_t r = 0; r < requests; ++r) {
    std::vector<TokenId>& chat = chats[below(5)];
    if (chat.size() > 120 || below(50) == 0) chat = random_text(1 + below(20), below(1 << 30));
    const auto more = random_text(1 + below(6), below(1 << 30));
    chat.insert(chat.end(), more.begin(), more.end());
    auto hit = cache.find(chat);
    Sequence s = hit ? std::move(*hit) : model_with_drafts().new_sequence();
    run(s, std::span(chat).subspan(static_cast<std::size_t>(s.length())));
    cache.insert(chat, s, below(3) == 0 ? SnapshotKind::header : SnapshotKind::end);
    ASSERT_LE(cache.stats().bytes, cache.options().budget);
    served(r);
  }
}

std::int64_t snapshot_size() {
  PrefixCache cache;
  Sequence s = model_with_drafts().new_sequence();
  run(s, random_text(100, 2));
  cache.insert(random_text(100, 2), s, SnapshotKind::end);
  return cache.stats().bytes;
}

TEST(PrefixCacheBits, TheBudgetHoldsWhateverComes) {
  for (const std::int64_t snapshots : {1, 2, 7}) {
    PrefixCache cache({.budget = snapshots * snapshot_size() * 3 / 2});
    serve(cache, 40, 1, [](std::int64_t) {});
    EXPECT_GT(cache.stats().evictions, 0);
    EXPECT_GT(cache.stats().hits, 0);
  }
}

TEST(SlowPrefixCache, TenThousandRequestsStayWithinTheBudgetAndTheMemoryOfThousand) {
  PrefixCache cache({.budget = 8 * snapshot_size()});
  std::int64_t after_thousand = 0, after_all = 0;
  serve(cache, 10000, 7, [&](std::int64_t request) {
    if (request == 1000) after_thousand = process_memory().anonymous;
    after_all = process_memory().anonymous;
  });
  EXPECT_GT(cache.stats().hits, 5000);
  EXPECT_GT(cache.stats().evictions, 1000);
  EXPECT_LT(after_all, after_thousand + (std::int64_t{2} << 20));
}

}  // namespace
}  // namespace cachalot::prefix_cache_test
