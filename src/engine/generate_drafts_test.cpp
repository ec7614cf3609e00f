// SPDX-License-Identifier: Apache-2.0
// Drafting changes the speed and nothing else.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "engine/draft_pause.h"
#include "engine/test_drafts.h"
#include "engine/test_generate.h"

namespace cachalot::generate_drafts_test {
namespace {

// The tiny checkpoint with its draft stages.
const LoadedModel& drafting() {
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

struct Ran {
  Generation generation;
  std::int64_t length = 0;         // of the sequence
  std::vector<float> next_logits;  // of one more token
};

Ran go(const std::vector<TokenId>& prompt, const GenerateOptions& options, const Sequence* base = nullptr) {
  Context context;
  Sequence sequence = base == nullptr ? drafting().model.new_sequence() : base->share();
  auto generation = generate(drafting(), context, sequence, prompt, options);
  EXPECT_TRUE(generation.has_value()) << generation.error().message;
  Ran ran{.generation = std::move(*generation), .length = sequence.length(), .next_logits = {}};
  if (sequence.length() < drafting().model.config().max_seq_len) {
    Sequence* const one[] = {&sequence};
    const Row row[] = {{.token = TokenId{5}, .wants_logits = true}};
    EXPECT_TRUE(drafting().model.forward(context, {one, row, nullptr, nullptr}, ran.next_logits));
  }
  return ran;
}

// A run with each kind of source against the run without drafts. -> without
Ran expect_drafts_change_nothing(const std::vector<TokenId>& prompt, GenerateOptions options,
                                 const Sequence* base = nullptr) {
  options.logprobs = 497;
  options.drafting = {};
  Ran plain = go(prompt, options, base);
  std::vector<std::unique_ptr<DraftSource>> sources;
  for (const std::int64_t right : {0, 3, 5})
    sources.push_back(std::make_unique<KnowingDrafts>(plain.generation.choices, right));
  sources.push_back(std::make_unique<RandomDrafts>(1, 497));
  sources.push_back(std::make_unique<DraftStages>(drafting().model));
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (const std::int64_t count : {2, 5}) {
      SCOPED_TRACE(fmt::format("source {}, {} drafts", s, count));
      DraftPause pause;
      options.drafting = {.source = sources[s].get(), .count = count, .pause = count == 2 ? &pause : nullptr};
      const Ran drafted = go(prompt, options, base);
      EXPECT_EQ(drafted.generation.choices.size(), plain.generation.choices.size());
      for (std::size_t c = 0; c < plain.generation.choices.size(); ++c)
        expect_same_completion(drafted.generation.choices[c], plain.generation.choices[c]);
      EXPECT_EQ(drafted.length, plain.length);
      EXPECT_EQ(drafted.next_logits, plain.next_logits);  // the state behind it, too
    }
  }
  return plain;
}

TEST(Drafting, ChangesNoBitAtAnyTemperature) {
  for (const double temperature : {0.0, 0.8, 1.5}) {
    GenerateOptions options{.max_tokens = 14};
    options.sampling.temperature = temperature;
    options.sampling.seed = 3;
    expect_drafts_change_nothing(tokens(9), options);
  }
}

TEST(Drafting, ChangesNoBitWithPenaltiesBiasAndFilters) {
  GenerateOptions options{.max_tokens = 14};
  options.sampling = {.temperature = 1.2,
                      .seed = 8,
                      .top_k = 60,
                      .top_p = 0.9,
                      .repetition_penalty = 1.4,
                      .presence_penalty = 0.5,
                      .frequency_penalty = 0.7,
                      .min_tokens = 10,
                      .logit_bias = {{TokenId{11}, 3.0}, {TokenId{12}, -100.0}}};
  options.stop_tokens = {TokenId{11}, TokenId{1}};
  const Ran plain = expect_drafts_change_nothing(tokens(40), options);
  EXPECT_GE(plain.generation.choices[0].tokens.size(), 10U);
}

TEST(Drafting, APauseGoesOnFromRequestToRequest) {
  RandomDrafts source(1, 497);
  DraftPause pause;
  GenerateOptions options{.max_tokens = 4};  // three rounds: fewer than a trial has
  options.drafting = {.source = &source, .count = 2, .pause = &pause};
  EXPECT_EQ(go(tokens(9), options).generation.drafts.drafted_rounds, 0);
  EXPECT_GT(go(tokens(9), options).generation.drafts.drafted_rounds, 0);
}

TEST(Drafting, ChangesNoBitOfSeveralChoices) {
  GenerateOptions options{.max_tokens = 9, .choices = 3};
  options.sampling = {.temperature = 1.5, .seed = 4};
  expect_drafts_change_nothing(tokens(17), options);
}

TEST(Drafting, EndsAtMaxTokensAtAStopTokenAndAtAStopStringAsWithout) {
  GenerateOptions options{};
  options.sampling = {.temperature = 1.0, .seed = 6};
  for (const std::int64_t max : {1, 2, 6, 7, 8}) {
    options.max_tokens = max;
    const Ran plain = expect_drafts_change_nothing(tokens(5), options);
    EXPECT_EQ(plain.generation.choices[0].end, EndReason::length);
  }
  options.max_tokens = 12;
  const Ran free = go(tokens(5), options);
  for (const std::size_t i : {0, 1, 5, 6}) {
    options.stop_tokens = {free.generation.choices[0].tokens[i].id};
    EXPECT_EQ(expect_drafts_change_nothing(tokens(5), options).generation.choices[0].end, EndReason::stop);
  }
  options.stop_tokens.clear();
  options.stop_strings = {free.generation.choices[0].text.substr(4, 3)};
  EXPECT_EQ(expect_drafts_change_nothing(tokens(5), options).generation.choices[0].end, EndReason::stop_string);
}

TEST(Drafting, EndsWhereTheContextDoes) {
  const std::int64_t limit = drafting().model.config().max_seq_len;
  Context context;
  Sequence base = drafting().model.new_sequence();
  ASSERT_TRUE(generate(drafting(), context, base, tokens(limit - 12), {.max_tokens = 0}));
  for (const std::int64_t room : {0, 1, 5, 6, 7}) {
    const Ran plain = expect_drafts_change_nothing(tokens(12 - room), {.max_tokens = 40}, &base);
    EXPECT_EQ(plain.generation.choices[0].end, EndReason::context);
    EXPECT_EQ(static_cast<std::int64_t>(plain.generation.choices[0].tokens.size()), room + 1);
  }
}

TEST(Drafting, WorksBehindPromptsShorterThanItsWindow) {
  for (std::int64_t n = 1; n <= 6; ++n) expect_drafts_change_nothing(tokens(n), {.max_tokens = 7});
}

TEST(Drafting, IsCountedPlaceByPlace) {
  GenerateOptions options{.max_tokens = 31};  // one behind the prompt, then 30 in rounds
  const Ran plain = go(tokens(9), options);
  EXPECT_EQ(plain.generation.drafts.plain_rounds, 30);
  EXPECT_EQ(plain.generation.drafts.drafted_rounds, 0);
  using Counts = std::vector<std::int64_t>;
  {
    KnowingDrafts all(plain.generation.choices, 5);  // six tokens a round
    options.drafting = {.source = &all, .count = 5};
    const DraftCounts counts = go(tokens(9), options).generation.drafts;
    EXPECT_EQ(counts.drafted_rounds, 5);
    EXPECT_EQ(counts.plain_rounds, 0);
    EXPECT_EQ(counts.proposed, Counts({5, 5, 5, 5, 5}));
    EXPECT_EQ(counts.accepted, counts.proposed);
    EXPECT_EQ(counts.accepted_per_round(), 5);
  }
  {
    KnowingDrafts two(plain.generation.choices, 2);  // three tokens a round; the last may have two drafts only
    options.drafting = {.source = &two, .count = 5};
    const DraftCounts counts = go(tokens(9), options).generation.drafts;
    EXPECT_EQ(counts.drafted_rounds, 10);
    EXPECT_EQ(counts.proposed, Counts({10, 10, 9, 9, 9}));
    EXPECT_EQ(counts.accepted, Counts({10, 10, 0, 0, 0}));
    EXPECT_EQ(counts.accepted_per_round(), 2);
  }
  {
    KnowingDrafts none(plain.generation.choices, 0);
    options.drafting = {.source = &none, .count = 3};
    const DraftCounts counts = go(tokens(9), options).generation.drafts;
    EXPECT_EQ(counts.accepted, Counts({0, 0, 0}));
    EXPECT_EQ(counts.drafted_rounds, 29);
    EXPECT_EQ(counts.plain_rounds, 1);  // the last token needs no draft behind it
  }
}

TEST(Drafting, RunsNoDraftsBehindAStopToken) {
  GenerateOptions options{.max_tokens = 6};
  options.sampling = {.temperature = 1.0, .seed = 6};
  const Ran free = go(tokens(9), options);
  const auto made = ids(free.generation.choices[0]);
  const TokenId stop = made[3];  // the third draft of the first block
  ASSERT_EQ(std::ranges::count(made, stop), 1);
  KnowingDrafts all(free.generation.choices, 5);
  options.stop_tokens = {stop};
  options.drafting = {.source = &all, .count = 5};
  const Ran ran = go(tokens(9), options);
  EXPECT_EQ(ran.generation.choices[0].end, EndReason::stop);
  EXPECT_EQ(ran.generation.drafts.proposed, std::vector<std::int64_t>({1, 1, 1}));
}

// On the bundled model, whose stages were trained: with the noise of its own position a draft at temperature 1 is
// accepted nearly as often as two such distributions can agree.
TEST(Drafting, OfTheModelsStagesIsRightAsOftenAsTheyCanBe) {
  const auto loaded = load_model(CACHALOT_TEST_DATA "/../../models/demo", {.backend = &cpu_backend(), .drafts = true});
  ASSERT_TRUE(loaded);
  DraftStages stages(loaded->model);
  GenerateOptions options{.max_tokens = 150};
  options.sampling = {.temperature = 1, .seed = 2};
  options.drafting = {.source = &stages, .count = 5};
  Context context;
  Sequence sequence = loaded->model.new_sequence();
  const auto prompt = *loaded->tokenizer.encode("It was a bright cold morning, and");
  const auto got = generate(*loaded, context, sequence, prompt, options);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->drafts.proposed.size(), 5U);
  EXPECT_GT(got->drafts.accepted_per_round(), 0.7);
}

TEST(Drafting, ThatFailsIsTheRequestsError) {
  struct Failing : DraftSource {
    std::int64_t block() const override { return 5; }
    Status draft(Context&, std::span<DraftRequest>) override { return fail(Errc::memory, "no room for drafts"); }
  } failing;
  Context context;
  Sequence sequence = drafting().model.new_sequence();
  GenerateOptions options{.max_tokens = 8};
  options.drafting = {.source = &failing, .count = 5};
  const auto got = generate(drafting(), context, sequence, tokens(9), options);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().message, "no room for drafts");
  EXPECT_EQ(sequence.length(), 9);
}

TEST(Drafting, IsInterruptedWithoutATraceOfTheDrafts) {
  Context context;
  Sequence sequence = drafting().model.new_sequence();
  GenerateOptions options{.max_tokens = 50};
  const Ran plain = go(tokens(9), options);
  KnowingDrafts all(plain.generation.choices, 5);
  options.drafting = {.source = &all, .count = 5};
  std::int64_t made = 0;
  GenerateEvents events;
  events.token = [&](const GeneratedToken&) { ++made; };
  events.interrupted = [&] { return made >= 7; };
  const auto got = generate(drafting(), context, sequence, tokens(9), options, events);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->choices[0].end, EndReason::interrupted);
  EXPECT_EQ(sequence.length(), 9 + static_cast<std::int64_t>(got->choices[0].tokens.size()) - 1);
}

}  // namespace
}  // namespace cachalot::generate_drafts_test
