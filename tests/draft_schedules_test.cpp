// SPDX-License-Identifier: Apache-2.0
// Random requests with drafts of every kind, over forks and any cut of the prompt, against the run token by token
// without drafts: ids, logprobs of the whole vocabulary and text, to the bit.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "engine/draft_pause.h"
#include "engine/test_drafts.h"
#include "sequence_runner.h"

namespace cachalot::draft_schedules_test {
namespace {

struct Dice {
  std::mt19937 random;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); }
};

const LoadedModel& loaded(const char* path) {
  static std::map<std::string, LoadedModel> models;
  const auto found = models.find(path);
  if (found != models.end()) return found->second;
  auto l = load_model(path, {.backend = &cpu_under_test(), .drafts = true});
  if (!l) {
    ADD_FAILURE() << l.error().message;
    std::abort();
  }
  return models.emplace(path, std::move(*l)).first->second;
}

std::vector<TokenId> random_tokens(Dice& dice, std::int64_t count, std::int64_t vocab) {
  std::vector<TokenId> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(TokenId{static_cast<std::int32_t>(3 + dice.below(vocab - 3))});
  return all;
}

std::unique_ptr<DraftSource> random_source(Dice& dice, const LoadedModel& model, const Generation& known) {
  switch (dice.below(4)) {
    case 0:
      return std::make_unique<KnowingDrafts>(known.choices, dice.below(6), 1 + dice.below(5));
    case 1:
      return std::make_unique<RandomDrafts>(static_cast<std::uint32_t>(dice.random()), model.model.config().vocab_size);
    default:
      return std::make_unique<DraftStages>(model.model);
  }
}

void run_schedules(const char* path, int count, std::uint32_t first_seed) {
  const LoadedModel& model = loaded(path);
  const std::int64_t vocab = model.model.config().vocab_size;
  std::int64_t accepted = 0, rejected = 0;
  for (int n = 0; n < count; ++n) {
    const std::uint32_t seed = first_seed + static_cast<std::uint32_t>(n);
    SCOPED_TRACE(seed);
    Dice dice{std::mt19937(seed)};
    const auto prompt = random_tokens(dice, 1 + dice.below(dice.below(3) == 0 ? 90 : 20), vocab);
    GenerateOptions options{.max_tokens = 1 + dice.below(24), .choices = 1 + dice.below(3) / 2};
    options.sampling.temperature = std::array{0.0, 0.7, 1.0, 1.6}[static_cast<std::size_t>(dice.below(4))];
    options.sampling.seed = seed;
    if (dice.below(3) == 0) options.sampling.top_k = 1 + dice.below(60);
    if (dice.below(4) == 0) options.sampling.repetition_penalty = 1.3;
    options.logprobs = vocab;

    options.chunk = 1;
    Context one_thread(1, model.model.memory());
    Sequence alone = model.model.new_sequence();
    const auto plain = generate(model, one_thread, alone, prompt, options);
    ASSERT_TRUE(plain);

    const auto source = random_source(dice, model, *plain);
    DraftPause pause;
    options.drafting = {.source = source.get(), .count = 1 + dice.below(5)};
    if (dice.below(4) == 0) options.drafting.pause = &pause;
    options.chunk = 1 + dice.below(64);
    Context context(static_cast<int>(1 + dice.below(4)), model.model.memory());
    // The state behind a part of the prompt, with something else on it that is forgotten, or a fork of it.
    Sequence sequence = model.model.new_sequence();
    const auto part = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(prompt.size())));
    if (part > 0) {
      const std::span<const TokenId> begin(prompt.data(), part);
      ASSERT_TRUE(generate(model, context, sequence, begin, {.max_tokens = 0, .chunk = 1 + dice.below(64)}));
      const std::int64_t more = dice.below(std::min<std::int64_t>(12, model.model.state_shape().slack));
      Sequence fork = sequence.share();
      if (more > 0) {
        ASSERT_TRUE(generate(model, context, sequence, random_tokens(dice, more, vocab), {.max_tokens = 0}));
        ASSERT_TRUE(sequence.truncate(static_cast<std::int64_t>(part)));
      }
      if (dice.below(2) == 0) sequence = std::move(fork);
    }
    const std::span<const TokenId> rest(prompt.data() + part, prompt.size() - part);
    GenerateOptions continued = options;
    continued.before.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(part));
    const auto drafted = generate(model, context, sequence, rest, continued);
    ASSERT_TRUE(drafted) << drafted.error().message;
    for (std::size_t c = 0; c < plain->choices.size(); ++c) {
      expect_same_completion(drafted->choices[c], plain->choices[c]);
      if (testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(sequence.length(), alone.length());
    for (std::size_t i = 0; i < drafted->drafts.proposed.size(); ++i) {
      accepted += drafted->drafts.accepted[i];
      rejected += drafted->drafts.proposed[i] - drafted->drafts.accepted[i];
    }
  }
  EXPECT_GT(accepted, count / 4);
  EXPECT_GT(rejected, count);
}

TEST(DraftSchedules, ChangeNoBit) { run_schedules(CACHALOT_BUILD_DIR "/golden/mini-a", 12, 1); }

// CACHALOT_SCHEDULES: so many times as many.
int times() {
  const char* given = std::getenv("CACHALOT_SCHEDULES");
  return given == nullptr ? 1 : std::max(1, std::atoi(given));
}

TEST(SlowDraftSchedules, ChangeNoBitOfTheTinyModel) {
  run_schedules(CACHALOT_BUILD_DIR "/golden/mini-a", 120 * times(), 1000);
}

TEST(SlowDraftSchedules, ChangeNoBitOfTheBundledModel) {
  run_schedules(CACHALOT_TEST_DATA "/../../models/demo", 25 * times(), 5000);
}

}  // namespace
}  // namespace cachalot::draft_schedules_test
