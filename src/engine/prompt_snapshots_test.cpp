// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt_snapshots.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "engine/state_key.h"
#include "engine/test_drafts.h"
#include "engine/test_generate.h"
#include "kv/prefix_cache.h"
#include "kv/prefix_store.h"
#include "kv/snapshot_file.h"

namespace cachalot::prompt_snapshots_test {
namespace {

namespace fs = std::filesystem;

PrefixCacheOptions cache_options(std::int64_t every = 512) {
  return {.snapshot_every = every, .mode = state_mode(mini().model)};
}

struct Outcome {
  Generation generation;
  std::int64_t length = 0;  // of the sequence in the end
};

Outcome run_with(const Prefixes& prefixes, const std::vector<TokenId>& prompt, GenerateOptions options,
                 const GenerateEvents& events = {}) {
  options.prefixes = prefixes;
  Context context;
  Sequence sequence = mini().model.new_sequence();
  auto result = generate(mini(), context, sequence, prompt, options, events);
  EXPECT_TRUE(result) << result.error().message;
  return result ? Outcome{std::move(*result), sequence.length()} : Outcome();
}

// Of every token its whole row of probabilities, so that the comparison is to the bit.
const GenerateOptions told{.max_tokens = 4, .sampling = {.temperature = 1, .seed = 7}, .logprobs = 500};

std::vector<TokenId> joined(std::vector<TokenId> first, const Completion& completion) {
  for (const GeneratedToken& t : completion.tokens) first.push_back(t.id);
  return first;
}

std::vector<TokenId> fork(std::int64_t common, std::int64_t n, std::int32_t id = 2) {
  auto all = tokens(n);
  std::fill(all.begin() + common, all.end(), TokenId{id});
  return all;
}

void expect_cold(const Outcome& got, const std::vector<TokenId>& prompt, const GenerateOptions& options = told) {
  const auto cold = run_with({}, prompt, options);
  EXPECT_EQ(cold.generation.cached_tokens, 0);
  EXPECT_EQ(got.length, cold.length);
  expect_same_completion(got.generation.choices[0], cold.generation.choices[0]);
}

TEST(PromptSnapshots, ThePromptsBeginningIsNotRunAgainAndTheTextIsTheSame) {
  for (const auto& [every, chunk] : {std::pair{7, 5}, {16, 1}, {512, 256}}) {
    PrefixCache cache(cache_options(every));
    GenerateOptions options = told;
    options.chunk = chunk;
    const auto first = run_with({&cache}, tokens(60), options);
    EXPECT_EQ(first.generation.cached_tokens, 0);
    expect_cold(first, tokens(60), options);
    const auto again = run_with({&cache}, tokens(60), options);
    EXPECT_EQ(again.generation.cached_tokens, 59) << "its last token gives the logits";
    expect_cold(again, tokens(60), options);
    const auto shared = run_with({&cache}, fork(50, 60), options);
    EXPECT_EQ(shared.generation.cached_tokens, 50);
    expect_cold(shared, fork(50, 60), options);
  }
}

TEST(PromptSnapshots, ChunksEndWhereSnapshotsAreTaken) {
  PrefixCache cache(cache_options(16));
  std::vector<std::int64_t> done;
  const GenerateOptions options{.max_tokens = 0, .chunk = 10};
  (void)run_with({&cache}, tokens(37), options, {.prompt = [&](std::int64_t n, std::int64_t total) {
                   done.push_back(n);
                   EXPECT_EQ(total, 37);
                 }});
  EXPECT_EQ(done, (std::vector<std::int64_t>{10, 16, 26, 32, 37}));
  EXPECT_EQ(cache.stats().entries, 3);  // 16, 32, and the end
  done.clear();
  (void)run_with({&cache}, fork(20, 37), options, {.prompt = [&](std::int64_t n, std::int64_t total) {
                   done.push_back(n);
                   EXPECT_EQ(total, 17);  // what has to be run
                 }});
  EXPECT_EQ(done, (std::vector<std::int64_t>{10, 12, 17}));
}

TEST(PromptSnapshots, BehindTheHeaderOfTheLastTurnAnotherPromptGoesOn) {
  const auto prompt = tokens(60);
  PrefixCacheOptions header_only = cache_options();
  header_only.answer_every = 1000;  // no state of the answer reaches back to it either
  PrefixCache cache(header_only);
  GenerateOptions options = told;
  options.max_tokens = 40;  // so that the end does not reach back to it
  (void)run_with({&cache}, prompt, options);
  const auto next = run_with({&cache}, fork(60, 130), told);
  EXPECT_EQ(next.generation.cached_tokens, 60);
  expect_cold(next, fork(60, 130));
}

// What a hit costs: the new part, and less than snapshot_every tokens more.
TEST(PromptSnapshots, ABeginningOfAnyLengthIsCachedUpToTheLastSnapshot) {
  constexpr std::int64_t every = 32;
  PrefixCache cache(cache_options(every));
  const GenerateOptions only_run{.max_tokens = 0};
  (void)run_with({&cache}, tokens(250), only_run);
  for (std::int64_t common = 1; common < 250; common += 3) {
    const std::int64_t cached = run_with({&cache}, fork(common, common + 5, 2), only_run).generation.cached_tokens;
    EXPECT_LE(cached, common);
    EXPECT_GT(cached, common - every) << common;
  }
}

TEST(PromptSnapshots, FiveTurnsAreEachThatOfAColdRun) {
  PrefixCache cache(cache_options());
  std::vector<TokenId> prompt = tokens(11);
  std::int64_t before = 0;
  for (int turn = 0; turn < 5; ++turn) {
    GenerateOptions options = told;
    options.max_tokens = 9 + turn;
    const auto got = run_with({&cache}, prompt, options);
    EXPECT_EQ(got.generation.cached_tokens, before) << turn;
    expect_cold(got, prompt, options);
    before = got.length;
    prompt = joined(prompt, got.generation.choices[0]);
    for (int i = 0; i < 8 + turn; ++i) prompt.push_back(TokenId{100 + 7 * turn + i});
  }
}

TEST(PromptSnapshots, AnEarlierTurnThatIsChangedOrAskedAgainGoesOnFromThere) {
  PrefixCache cache(cache_options());
  GenerateOptions options = told;
  options.max_tokens = 30;
  std::vector<std::vector<TokenId>> prompts;
  std::vector<TokenId> prompt = tokens(20);
  for (int turn = 0; turn < 4; ++turn) {
    prompts.push_back(prompt);
    prompt = joined(prompt, run_with({&cache}, prompt, options).generation.choices[0]);
    prompt.push_back(TokenId{9});
  }
  for (const auto& earlier : prompts) {
    const auto again = run_with({&cache}, earlier, told);
    EXPECT_EQ(again.generation.cached_tokens, std::ssize(earlier) - 1);
    auto edited = earlier;
    edited.push_back(TokenId{11});
    const auto changed = run_with({&cache}, edited, told);
    EXPECT_EQ(changed.generation.cached_tokens, std::ssize(earlier));
    expect_cold(changed, edited);
  }
}

TEST(PromptSnapshots, SeveralChoicesAndAnInterruptLeaveWhatTheFirstHasCommitted) {
  PrefixCache cache(cache_options());
  GenerateOptions options = told;
  options.choices = 3;
  options.max_tokens = 30;
  const auto got = run_with({&cache}, tokens(40), options);
  const auto cold = run_with({}, tokens(40), options);
  for (std::size_t c = 0; c < 3; ++c) expect_same_completion(got.generation.choices[c], cold.generation.choices[c]);
  const auto prompt = joined(tokens(40), got.generation.choices[0]);
  EXPECT_EQ(run_with({&cache}, prompt, told).generation.cached_tokens, 69);

  int asked = 0;
  const std::int64_t layers = mini().model.config().n_layers;
  options = told;
  options.chunk = 8;
  const auto stopped =
      run_with({&cache}, tokens(30), options, {.interrupted = [&] { return asked++ >= 1 + 2 * layers; }});
  EXPECT_EQ(stopped.generation.choices[0].end, EndReason::interrupted);
  const auto other = fork(0, 25, 4);
  asked = 0;
  const auto cut = run_with({&cache}, other, options, {.interrupted = [&] { return asked++ >= layers + 1; }});
  EXPECT_EQ(cut.length, 8);
  const auto rest = run_with({&cache}, other, options);
  EXPECT_EQ(rest.generation.cached_tokens, 8) << "what was run before the interrupt";
  expect_cold(rest, other, options);
}

TEST(PromptSnapshots, DraftsThatWereTakenBackLeaveAStateToGoOnFrom) {
  for (const std::int64_t right : {0, 2, 5}) {
    const auto known = run_with({}, tokens(40), told).generation.choices;
    PrefixCache cache(cache_options());
    KnowingDrafts drafts(known, right);
    GenerateOptions options = told;
    options.drafting = {.source = &drafts, .count = 5};
    const auto got = run_with({&cache}, tokens(40), options);
    expect_cold(got, tokens(40));
    auto prompt = joined(tokens(40), got.generation.choices[0]);
    prompt.push_back(TokenId{5});
    const auto next = run_with({&cache}, prompt, told);
    EXPECT_EQ(next.generation.cached_tokens, got.length);
    expect_cold(next, prompt);
  }
}

// The next prompt may spell an answer with other tokens than were drawn, from any of them on.
TEST(PromptSnapshots, WithinAnAnswerAnotherPromptGoesOnCloseToWhereItDiffers) {
  constexpr std::int64_t every = 16, header = 40;
  const auto known = run_with({}, tokens(header), {.max_tokens = 100, .sampling = told.sampling}).generation.choices;
  KnowingDrafts drafts(known, 2);
  for (DraftSource* source : {static_cast<DraftSource*>(nullptr), static_cast<DraftSource*>(&drafts)}) {
    PrefixCacheOptions small = cache_options();
    small.answer_every = every;
    GenerateOptions options{.max_tokens = 100, .sampling = told.sampling};
    options.drafting = {.source = source, .count = 5};
    for (const std::int64_t common : {41, 80, 139}) {
      PrefixCache cache(small);
      const auto answer = run_with({&cache}, tokens(header), options);
      const auto all = joined(tokens(header), answer.generation.choices[0]);
      std::vector<TokenId> next(all.begin(), all.begin() + common);
      next.push_back(TokenId{all[static_cast<std::size_t>(common)] == TokenId{5} ? 6 : 5});
      const auto got = run_with({&cache}, next, told);
      EXPECT_LE(got.generation.cached_tokens, common);
      EXPECT_GE(got.generation.cached_tokens, common - every) << common;
      expect_cold(got, next);
    }
  }
}

TEST(PromptSnapshots, WhatIsPublishedLastCanNotGoOnFromACache) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.index_keys = IndexKeys::published_slot});
  ASSERT_TRUE(loaded);
  PrefixCache cache({.mode = state_mode(loaded->model)});
  Context context;
  Sequence sequence = loaded->model.new_sequence();
  const auto refused = generate(*loaded, context, sequence, tokens(4), {.prefixes = {&cache}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
}

TEST(PromptSnapshotsDeathTest, ACacheOfAnotherModeOrABegunSequenceIsOurMistake) {
  PrefixCache cache({.mode = "another"});
  EXPECT_DEATH((void)run_with({&cache}, tokens(4), told), "one model and one mode");
  PrefixCache right(cache_options());
  Context context;
  Sequence sequence = mini().model.new_sequence();
  ASSERT_TRUE(generate(mini(), context, sequence, tokens(4), {.max_tokens = 0}));
  EXPECT_DEATH((void)generate(mini(), context, sequence, tokens(4), {.prefixes = {&right}}), "given as a whole");
}

class StoredSnapshots : public testing::Test {
 protected:
  // As a process that has just begun: nothing in memory.
  Outcome fresh(const std::vector<TokenId>& prompt, const GenerateOptions& options = told,
                const GenerateEvents& events = {}) {
    PrefixCache cache(cache_options());
    auto store = PrefixStore::open({.folder = folder_,
                                    .key = *state_key(mini().model, *mini().checkpoint),
                                    .pools = mini().model.state_pools(),
                                    .tell = [this](std::string_view line) { told_.emplace_back(line); }});
    EXPECT_TRUE(store);
    return run_with({&cache, &*store}, prompt, options, events);
  }
  std::int64_t files() const { return std::ssize(*stored_snapshots(folder_)); }

  const TestFolder home_;
  const fs::path folder_ = home_.path() / "states";  // not there yet
  std::vector<std::string> told_;
};

TEST_F(StoredSnapshots, TheNextProcessGoesOnAtOddAndEvenLengths) {
  for (const std::int64_t n : {5, 31, 32, 64, 65, 150}) {
    (void)fresh(tokens(n));
    const auto prompt = fork(n, n + 10);
    const auto next = fresh(prompt);
    EXPECT_EQ(next.generation.cached_tokens, n);
    expect_cold(next, prompt);
  }
  EXPECT_TRUE(told_.empty()) << told_[0];
}

TEST_F(StoredSnapshots, AFileThatWasDamagedChangesNothingButTheTime) {
  (void)fresh(tokens(40));
  const auto all = *stored_snapshots(folder_);
  ASSERT_EQ(all.size(), 1u) << "the end reaches back to the header, and serves for both";
  fs::resize_file(all[0].path, fs::file_size(all[0].path) - 1);
  const auto again = fresh(tokens(40));
  EXPECT_EQ(again.generation.cached_tokens, 0);
  expect_cold(again, tokens(40));
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(fresh(tokens(40)).generation.cached_tokens, 39) << "it was written anew";
}

// Every value is a number, and so large that no model computes on with it: somebody made the file, checksums and all.
TEST_F(StoredSnapshots, AStateThatNoModelLeavesIsAMissOnceItShowsAndChangesNoBit) {
  (void)fresh(tokens(40));
  const auto all = *stored_snapshots(folder_);
  ASSERT_EQ(all.size(), 1u);
  std::ifstream in(all[0].path, std::ios::binary);
  auto reader = *SnapshotReader::open(in, all[0].bytes, "it");
  const SnapshotHeader header = reader.header();
  const auto ids = *reader.ids();
  const StateShape& shape = mini().model.state_shape();
  const Sequence honest = *reader.state(shape);
  std::vector<std::vector<std::byte>> parts;
  honest.each_part([&](std::span<const std::byte> part) { parts.emplace_back(part.begin(), part.end()); });
  for (std::int64_t ring = 0; ring < shape.rings; ++ring) {
    auto& bytes = parts[static_cast<std::size_t>(ring)];
    const std::int64_t record = row_bytes(window_format, shape.head_dim);
    for (std::int64_t i = 0; i < std::ssize(bytes); ++i) {
      bytes[static_cast<std::size_t>(i)] = i % record < shape.head_dim ? std::byte{0x7E} : std::byte{246};
    }
  }
  std::size_t next = 0;
  const auto forged = Sequence::restore(shape, header.numbers, [&](std::span<std::byte> part) {
    std::ranges::copy(parts[next++], part.begin());
    return Status();
  });
  ASSERT_TRUE(forged && write_snapshot(all[0].path, header, ids, *forged));
  const auto again = fresh(tokens(40));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("logits are no numbers; it is removed"), std::string::npos) << told_[0];
  EXPECT_NE(told_[0].find(all[0].path.string()), std::string::npos) << told_[0];
  EXPECT_EQ(again.generation.cached_tokens, 0);
  EXPECT_EQ(again.generation.run_tokens, 40);
  expect_cold(again, tokens(40));
  EXPECT_EQ(fresh(tokens(40)).generation.cached_tokens, 39) << "it was written anew";
}

TEST_F(StoredSnapshots, OnlyHeaderAndEndGoToDiskAndNotBeforeTheAnswerWasTold) {
  GenerateOptions options = told;
  options.max_tokens = 30;
  std::int64_t early = 0, made = 0;
  const GenerateEvents watching{.token = [&](const GeneratedToken&) { early += files(); },
                                .text = [&](std::int64_t, std::string_view) { early += files(); },
                                .complete =
                                    [&](const Generation& all) {
                                      early += files();
                                      made = std::ssize(all.choices[0].tokens);
                                    }};
  const auto got = fresh(tokens(200), options, watching);
  EXPECT_EQ(got.generation.choices[0].end, EndReason::length);
  EXPECT_EQ(early, 0);
  EXPECT_EQ(made, 30);
  EXPECT_EQ(files(), 2);
}

// A request that is cut by length does no step more with a cache than without.
TEST_F(StoredSnapshots, ARequestThatIsCutByLengthRunsNoStepMore) {
  const auto steps = [&](bool cached) {
    std::int64_t asked = 0;
    const GenerateEvents counting{.interrupted = [&] {
      ++asked;
      return false;
    }};
    (void)(cached ? fresh(tokens(60), told, counting) : run_with({}, tokens(60), told, counting));
    return asked;
  };
  EXPECT_EQ(steps(true), steps(false));
}

}  // namespace
}  // namespace cachalot::prompt_snapshots_test
