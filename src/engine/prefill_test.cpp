// SPDX-License-Identifier: Apache-2.0
// Replay (spec 11) in requests. mini-a has a window of 56 and its last KV source at layer 6 of 10.
#include "engine/prefill.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "engine/state_key.h"
#include "engine/test_drafts.h"
#include "engine/test_generate.h"
#include "kv/prefix_cache.h"
#include "kv/prefix_store.h"

namespace cachalot::prefill_test {
namespace {

constexpr std::int64_t window = 56;

const LoadedModel& with_stages() {
  static const LoadedModel loaded = [] {
    auto l = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.backend = &cpu_backend(), .drafts = true});
    if (!l) {
      ADD_FAILURE() << l.error().message;
      std::abort();
    }
    return std::move(*l);
  }();
  return loaded;
}

// All of the model's probabilities with every token, so that bits can be compared.
GenerateOptions options_of(Prefill prefill, std::int64_t max_tokens = 6) {
  GenerateOptions options;
  options.max_tokens = max_tokens;
  options.logprobs = 497;
  options.prefill = prefill;
  return options;
}

struct Result {
  Generation generation;
  Sequence sequence;
};

Result go(const std::vector<TokenId>& prompt, const GenerateOptions& options, const Sequence* behind = nullptr,
          int threads = 1, const LoadedModel& loaded = mini()) {
  Context context(threads);
  Result result{{}, behind == nullptr ? loaded.model.new_sequence() : behind->share()};
  auto generation = generate(loaded, context, result.sequence, prompt, options);
  EXPECT_TRUE(generation) << generation.error().message;
  result.generation = std::move(*generation);
  return result;
}

void expect_same(const Generation& a, const Generation& b) { expect_same_completion(a.choices[0], b.choices[0]); }

std::string refusal(const Sequence& behind, std::int64_t more, const GenerateOptions& options) {
  Context context;
  Sequence sequence = behind.share();
  const auto generation = generate(mini(), context, sequence, tokens(more), options);
  if (generation) return {};
  EXPECT_EQ(generation.error().code, Errc::usage);
  EXPECT_EQ(sequence.length(), behind.length());
  return generation.error().message;
}

TEST(Prefill, TheTailIsTheLastWindowOfAPromptWhereverItStands) {
  const Model& model = mini().model;
  EXPECT_EQ(model.tail_layer(), 6);
  EXPECT_EQ(model.tail_rows(), window);
  for (const std::int64_t first : {0, 1, 100}) {
    for (const std::int64_t n : {1, 55, 56}) EXPECT_EQ(tail_start(model, Prefill::replay, first, first + n), first);
    EXPECT_EQ(tail_start(model, Prefill::replay, first, first + 57), first + 1);
    EXPECT_EQ(tail_start(model, Prefill::replay, first, first + 300), first + 244);
    EXPECT_EQ(tail_start(model, Prefill::exact, first, first + 300), first);
  }
}

TEST(Prefill, LayerTokensAreCountedByHand) {
  LayerTokens work;
  work.add(mini().model, 10, 0);
  EXPECT_EQ(work.run, 100);
  work.add(mini().model, 10, 10);
  EXPECT_EQ(work.run, 100 + 60);
  work.add(mini().model, 10, 3);
  EXPECT_EQ(work.run, 100 + 60 + 3 * 6 + 7 * 10);
  EXPECT_EQ(work.exact, 300);
}

// Of 300 tokens, layers 0 to 5 run 300 and layers 6 to 9 the last 56.
TEST(Prefill, LayersBehindTheLastSourceSeeOnlyTheTail) {
  for (const std::int64_t chunk : {1, 64, 256, 1000}) {
    GenerateOptions options = options_of(Prefill::replay, 0);
    options.chunk = chunk;
    const Generation replayed = go(tokens(300), options).generation;
    EXPECT_EQ(replayed.layer_tokens.run, 6 * 300 + 4 * 56) << chunk;
    EXPECT_EQ(replayed.layer_tokens.exact, 10 * 300);
  }
  const Generation exact = go(tokens(300), options_of(Prefill::exact, 0)).generation;
  EXPECT_EQ(exact.layer_tokens.run, 3000);
  EXPECT_EQ(exact.layer_tokens.exact, 3000);
}

TEST(Prefill, APromptNoLongerThanTheTailIsExactToTheBit) {
  for (const std::int64_t n : {1, 2, 55, 56}) {
    const Result exact = go(tokens(n), options_of(Prefill::exact));
    const Result replayed = go(tokens(n), options_of(Prefill::replay));
    expect_same(replayed.generation, exact.generation);
    EXPECT_FALSE(replayed.sequence.replayed());
    EXPECT_EQ(replayed.generation.layer_tokens.run, 10 * n);
    EXPECT_EQ(refusal(replayed.sequence, 3, options_of(Prefill::exact)), "") << "it may be gone on with exactly";
  }
  const Result longer = go(tokens(57), options_of(Prefill::replay));
  EXPECT_TRUE(longer.sequence.replayed());
  EXPECT_EQ(longer.sequence.tail_start(), 1);
  EXPECT_EQ(longer.generation.layer_tokens.run, 6 * 57 + 4 * 56);
  EXPECT_NE(longer.generation.choices[0].tokens[0].logprob,
            go(tokens(57), options_of(Prefill::exact)).generation.choices[0].tokens[0].logprob);
  Context context;
  Sequence sequence = mini().model.new_sequence();
  EXPECT_FALSE(generate(mini(), context, sequence, {}, options_of(Prefill::replay)));
}

TEST(Prefill, ReplayIsTheSameInAnyChunksAndOnAnyThreads) {
  const Result whole = go(tokens(200), options_of(Prefill::replay));
  EXPECT_EQ(whole.sequence.tail_start(), 144);
  for (const std::int64_t chunk : {1, 7, 64, 1000}) {
    GenerateOptions options = options_of(Prefill::replay);
    options.chunk = chunk;
    const Result chunked = go(tokens(200), options, nullptr, chunk == 64 ? 3 : 1);
    EXPECT_EQ(chunked.sequence.tail_start(), 144) << chunk;
    expect_same(chunked.generation, whole.generation);
  }
}

TEST(Prefill, TheFirstTokenBehindAPromptIsThatOfItsRows) {
  constexpr std::int64_t n = 130;
  std::vector<Row> rows;
  for (const TokenId t : tokens(n)) rows.push_back({.token = t, .global_only = std::ssize(rows) < n - window});
  rows.back().wants_logits = true;
  Context context;
  Sequence sequence = mini().model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  ASSERT_TRUE(mini().model.forward(context, {one, rows}, logits));
  const Result replayed = go(tokens(n), options_of(Prefill::replay, 1));
  const GeneratedToken& token = replayed.generation.choices[0].tokens[0];
  EXPECT_EQ(token.logprob, logprobs(logits, token.id, 0).chosen);
}

TEST(Prefill, ASecondPromptGoesOnFromTheWindowsThereAreOrHasATailOfItsOwn) {
  const Result first = go(tokens(200), options_of(Prefill::replay));
  const std::int64_t length = first.sequence.length();
  const Result same = go(tokens(window), options_of(Prefill::replay), &first.sequence);
  EXPECT_EQ(same.sequence.tail_start(), 144);
  EXPECT_EQ(same.generation.layer_tokens.run, 10 * window);
  const Result other = go(tokens(window + 4), options_of(Prefill::replay), &first.sequence);
  EXPECT_EQ(other.sequence.tail_start(), length + 4);
  EXPECT_EQ(other.generation.layer_tokens.run, 6 * (window + 4) + 4 * window);
  GenerateOptions one_by_one = options_of(Prefill::replay);
  one_by_one.chunk = 1;
  expect_same(go(tokens(window), one_by_one, &first.sequence).generation, same.generation);
  expect_same(go(tokens(window + 4), one_by_one, &first.sequence).generation, other.generation);
}

TEST(Prefill, AReplayBehindAnExactPromptIsAReplayFromThenOn) {
  const Result exact = go(tokens(100), options_of(Prefill::exact));
  const Result replayed = go(tokens(80), options_of(Prefill::replay), &exact.sequence);
  EXPECT_EQ(replayed.sequence.tail_start(), exact.sequence.length() + 24);
  EXPECT_NE(refusal(replayed.sequence, 3, options_of(Prefill::exact)).find("would not be exact"), std::string::npos);
  EXPECT_EQ(refusal(replayed.sequence, 3, options_of(Prefill::replay)), "");
}

TEST(Prefill, AnInterruptedReplayGoesOnWithTheRestOfItsPromptAndNothingElse) {
  const auto prompt = tokens(200);
  const Result whole = go(prompt, options_of(Prefill::replay));
  for (const std::size_t stop_at : {64u, 144u, 150u, 199u}) {
    Context context;
    Sequence sequence = mini().model.new_sequence();
    GenerateOptions options = options_of(Prefill::replay);
    options.chunk = 1;
    std::int64_t at = 0;
    const GenerateEvents events{.prompt = [&](std::int64_t done, std::int64_t) { at = done; },
                                .interrupted = [&] { return at == static_cast<std::int64_t>(stop_at); }};
    const auto stopped = generate(mini(), context, sequence, prompt, options, events);
    ASSERT_TRUE(stopped);
    ASSERT_EQ(sequence.length(), static_cast<std::int64_t>(stop_at));
    EXPECT_EQ(sequence.tail_start(), std::min<std::int64_t>(sequence.length(), 144));
    EXPECT_EQ(stopped->layer_tokens.exact, 10 * sequence.length());
    const std::string refused = refusal(sequence, 1, options);
    EXPECT_EQ(refused.find("has no whole window at position") == std::string::npos, stop_at == 199) << refused;
    const std::vector<TokenId> rest(prompt.begin() + static_cast<std::ptrdiff_t>(stop_at), prompt.end());
    expect_same(go(rest, options_of(Prefill::replay), &sequence).generation, whole.generation);
  }
}

TEST(Prefill, ChoicesAndDraftsBehindAReplayChangeNoBit) {
  GenerateOptions options = options_of(Prefill::replay, 20);
  options.choices = 2;
  options.sampling.temperature = 0.8f;
  const Result plain = go(tokens(150), options, nullptr, 1, with_stages());
  options.choices = 1;
  expect_same(go(tokens(150), options, nullptr, 1, with_stages()).generation, plain.generation);
  options.choices = 2;
  DraftStages stages(with_stages().model);
  KnowingDrafts half(plain.generation.choices, 2);
  for (DraftSource* source : {static_cast<DraftSource*>(&stages), static_cast<DraftSource*>(&half)}) {
    options.drafting = {.source = source, .count = 5};
    const Result drafted = go(tokens(150), options, nullptr, 1, with_stages());
    for (std::size_t c = 0; c < 2; ++c)
      expect_same_completion(drafted.generation.choices[c], plain.generation.choices[c]);
    EXPECT_GT(drafted.generation.drafts.drafted_rounds, 0);
  }
}

TEST(Prefill, ExactAndReplayedStatesAreNotMixedInACache) {
  PrefixCache exact({.mode = state_mode(mini().model)}), replays({.mode = state_mode(mini().model), .replays = true});
  const TestFolder folder;
  auto store = PrefixStore::open({.folder = folder.path() / "states",
                                  .key = *state_key(mini().model, *mini().checkpoint),
                                  .pools = mini().model.state_pools()});
  ASSERT_TRUE(store);
  const auto told = [](Prefill prefill, Prefixes prefixes) {
    GenerateOptions options = options_of(prefill);
    options.prefixes = prefixes;
    return refusal(mini().model.new_sequence(), 3, options);
  };
  constexpr std::string_view mixed = "exact and replayed states are not mixed, and the prefix cache that was given is ";
  EXPECT_EQ(told(Prefill::replay, {&exact}), fmt::format("prefill replay: {}for exact ones", mixed));
  EXPECT_EQ(told(Prefill::exact, {&replays}), fmt::format("prefill exact: {}for replayed ones", mixed));
  EXPECT_EQ(told(Prefill::replay, {&replays, &*store}), fmt::format("prefill replay: {}for exact ones", mixed))
      << "a folder holds exact states";
}

TEST(Prefill, AReplayGoesOnFromReplayedStatesThatHaveWholeWindows) {
  PrefixCache cache({.snapshot_every = 64, .mode = state_mode(mini().model), .replays = true});
  GenerateOptions options = options_of(Prefill::replay, 0);
  const Generation cold = go(tokens(260), options).generation;
  options.prefixes.cache = &cache;
  const Result first = go(tokens(200), options);
  EXPECT_EQ(first.sequence.tail_start(), 144);
  EXPECT_EQ(cache.stats().entries, 4) << "behind 64, 128 and 192 positions, and at the end";
  // Behind the end of the first prompt, and with a tail of its own: as if all had been run anew.
  options.max_tokens = 6;
  const Result longer = go(tokens(260), options);
  EXPECT_EQ(longer.generation.cached_tokens, 200);
  EXPECT_EQ(longer.sequence.tail_start(), 204);
  EXPECT_EQ(longer.generation.layer_tokens.run, 6 * 60 + 4 * 56);
  expect_same(longer.generation, go(tokens(260), options_of(Prefill::replay)).generation);
  EXPECT_EQ(cold.layer_tokens.run, 6 * 260 + 4 * 56);
  // Of a shorter one only what was left within the replay has these tokens, and no windows for it.
  auto other = tokens(130);
  other.back() = TokenId{2};
  const Result shorter = go(other, options);
  EXPECT_EQ(shorter.generation.cached_tokens, 0);
  expect_same(shorter.generation, go(other, options_of(Prefill::replay)).generation);
}

}  // namespace
}  // namespace cachalot::prefill_test
