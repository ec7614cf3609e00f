// SPDX-License-Identifier: Apache-2.0
#include "engine/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/test_config.h"
#include "engine/logprobs.h"
#include "engine/test_generate.h"

namespace cachalot::perplexity_test {
namespace {

// No two tokens of a text of this length are the same, so that a token counted twice or in another's place changes the
// sum.
constexpr std::int64_t length = 23;

// Nats of each target of one window, its first token given: the whole window in one step, in long double.
std::vector<double> nats_of_window(const LoadedModel& loaded, const std::vector<TokenId>& window) {
  std::vector<Row> rows;
  for (const TokenId t : window) rows.push_back({.token = t, .wants_logits = true});
  Context context;
  Sequence sequence = loaded.model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  EXPECT_TRUE(loaded.model.forward(context, {one, rows}, logits));
  const auto vocab = static_cast<std::size_t>(loaded.model.config().vocab_size);
  std::vector<double> nats;
  for (std::size_t r = 0; r + 1 < window.size(); ++r) {
    long double sum = 0;  // of a tiny model's logits, which are small: no maximum is taken off
    for (std::size_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<long double>(logits[r * vocab + i]));
    const auto target = static_cast<std::size_t>(raw(window[r + 1]));
    nats.push_back(static_cast<double>(std::log(sum) - static_cast<long double>(logits[r * vocab + target])));
  }
  return nats;
}

// Nats of each token of the text, the windows cut by hand.
std::vector<double> nats_by_hand(const std::vector<TokenId>& text, std::size_t context) {
  std::vector<double> all;
  for (std::size_t begin = 0; begin < text.size(); begin += context - 1) {
    std::vector<TokenId> window = {TokenId{0}};
    for (std::size_t i = begin; i < std::min(text.size(), begin + context - 1); ++i) window.push_back(text[i]);
    const std::vector<double> part = nats_of_window(mini(), window);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Expected<TextScore> score(const std::vector<TokenId>& text, const PerplexityOptions& options,
                          const PerplexityEvents& events = {}) {
  Context context;
  return score_tokens(mini(), context, text, options, events);
}

double sum(const std::vector<double>& all) {
  double total = 0;
  for (const double one : all) total += one;
  return total;
}

TEST(Perplexity, EachTokenIsScoredOnceAfterWhatStandsBeforeItInItsWindow) {
  ASSERT_EQ(mini().model.config().bos_token_id, 0);
  const std::vector<TokenId> text = tokens(length);
  for (const std::int64_t window : {1, 2, 3, 7, 22, 23, 24, 100}) {
    const std::vector<double> want = nats_by_hand(text, static_cast<std::size_t>(window + 1));
    ASSERT_EQ(want.size(), text.size());
    for (const std::int64_t chunk : {1, 5, 256}) {
      // Step by step: a token in a place of another's would leave the sum alone.
      double before = 0;
      std::size_t seen = 0;
      PerplexityEvents events;
      events.scored = [&](const TextScore& so_far) {
        double step = 0;
        while (seen < static_cast<std::size_t>(so_far.tokens)) step += want[seen++];
        EXPECT_NEAR(so_far.nats - before, step, 1e-9) << "window " << window << ", token " << seen;
        before = so_far.nats;
      };
      const auto got = score(text, {.context = window + 1, .chunk = chunk}, events);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->tokens, length);
      EXPECT_EQ(got->all_tokens, length);
      EXPECT_TRUE(got->complete());
      EXPECT_NEAR(got->nats, sum(want), 1e-9) << "window " << window << ", chunk " << chunk;
    }
  }
}

TEST(Perplexity, FiguresFollowFromNatsTokensAndBytes) {
  const TextScore s{.tokens = 4, .bytes = 10, .nats = 8 * std::log(2.0), .all_tokens = 5};
  EXPECT_DOUBLE_EQ(s.bits_per_byte(), 0.8);
  EXPECT_DOUBLE_EQ(s.nats_per_token(), 2 * std::log(2.0));
  EXPECT_DOUBLE_EQ(s.perplexity(), 4);
  EXPECT_DOUBLE_EQ(s.bytes_per_token(), 2.5);
  EXPECT_FALSE(s.complete());
}

TEST(Perplexity, BytesAreThoseOfTheText) {
  const std::string text = "Call me Ishmael.\r\n\n\tna\xC3\xAFve \xE6\x9D\xB1\xE4\xBA\xAC \xF0\x9F\x90\x8B\0!";
  const auto ids = tokens_to_score(mini().tokenizer, text);
  ASSERT_TRUE(ids) << ids.error().message;
  const auto got = score(*ids, {.context = 9});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tokens, static_cast<std::int64_t>(ids->size()));
  EXPECT_EQ(got->bytes, static_cast<std::int64_t>(text.size()));
}

TEST(Perplexity, NoTextSaysASpecialToken) {
  const Tokenizer& tokenizer = mini().tokenizer;
  const std::string text(tokenizer.spelling(TokenId{0}));
  ASSERT_TRUE(tokenizer.is_special(TokenId{0})) << text;
  const auto ids = tokens_to_score(tokenizer, text);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_GT(ids->size(), 1u);
  for (const TokenId id : *ids) EXPECT_FALSE(tokenizer.is_special(id)) << raw(id);
}

TEST(Perplexity, AConfigWithoutABeginOfSentenceStartsWindowsWithTheTokenBefore) {
  EditedCheckpoint edited;
  edited.config = flat_json();
  ASSERT_TRUE(edited.open().has_value());
  std::filesystem::copy_file(mini_a() / "tokenizer.json", edited.path() / "tokenizer.json");
  const auto loaded = load_model(edited.path(), {.backend = &cpu_backend()});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ(loaded->model.config().bos_token_id, -1);

  const std::vector<TokenId> text = tokens(8);
  const auto part = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    return sum(nats_of_window(*loaded, std::vector<TokenId>(text.begin() + begin, text.begin() + end)));
  };
  Context context;
  const auto got = score_tokens(*loaded, context, text, {.context = 4});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tokens, 7);
  EXPECT_TRUE(got->complete());
  EXPECT_NEAR(got->nats, part(0, 4) + part(3, 7) + part(6, 8), 1e-9);
  std::int64_t bytes = 0;
  for (std::size_t i = 1; i < text.size(); ++i)
    bytes += static_cast<std::int64_t>(loaded->tokenizer.token_bytes(text[i]).size());
  EXPECT_EQ(got->bytes, bytes);

  const auto lonely = score_tokens(*loaded, context, tokens(1), {.context = 4});
  ASSERT_FALSE(lonely);
  EXPECT_NE(lonely.error().message.find("nothing to score"), std::string::npos) << lonely.error().message;
}

TEST(Perplexity, AnInterruptLeavesTheScoreOfWhatWasDone) {
  const std::vector<TokenId> text = tokens(length);
  const std::vector<double> want = nats_by_hand(text, 9);
  std::int64_t done = 0, asked = 0;
  PerplexityEvents events;
  events.scored = [&](const TextScore& so_far) { done = so_far.tokens; };
  events.interrupted = [&] { return done == 13 && ++asked == 3; };  // within the step behind it
  const auto got = score(text, {.context = 9, .chunk = 5}, events);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tokens, 13);
  EXPECT_EQ(got->all_tokens, length);
  EXPECT_FALSE(got->complete());
  EXPECT_NEAR(got->nats, sum({want.begin(), want.begin() + 13}), 1e-9);

  events.interrupted = [] { return true; };
  const auto nothing = score(text, {.context = 9}, events);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_EQ(nothing->tokens, 0);
  EXPECT_TRUE(std::isnan(nothing->bits_per_byte()));
}

TEST(Perplexity, RefusesWhatCannotBeScored) {
  for (const std::int64_t context : {-1, 0, 1, 513}) {
    const auto got = score(tokens(3), {.context = context});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::usage);
    EXPECT_NE(got.error().message.find(std::to_string(context)), std::string::npos) << got.error().message;
    EXPECT_NE(got.error().message.find("512"), std::string::npos) << got.error().message;
  }
  EXPECT_TRUE(score(tokens(3), {.context = 512}));
  EXPECT_EQ(score({}, {.context = 8}).error().code, Errc::format);
  EXPECT_EQ(score({TokenId{497}}, {.context = 8}).error().code, Errc::range);
  EXPECT_EQ(score({TokenId{5}, TokenId{-1}}, {.context = 8}).error().code, Errc::range);
  const auto empty = tokens_to_score(mini().tokenizer, "");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("nothing to score"), std::string::npos) << empty.error().message;
  EXPECT_EQ(tokens_to_score(mini().tokenizer, "caf\xE9").error().message, "text to encode: byte 3 (0xe9) is not UTF-8");
}

TEST(Perplexity, AProbabilityThatIsNoNumberIsAnError) {
  EditedCheckpoint edited;
  TensorData& head = edited["head.weight"];  // too large to be looked at when it is loaded
  const std::vector<std::byte> all_nan(head.data.size(), std::byte{0xFF});  // bf16 NaN
  head.data = all_nan;
  ASSERT_TRUE(edited.open().has_value());
  std::filesystem::copy_file(mini_a() / "tokenizer.json", edited.path() / "tokenizer.json");
  const auto loaded = load_model(edited.path(), {});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  Context context;
  const auto got = score_tokens(*loaded, context, tokens(4), {.context = 8});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::range);
  EXPECT_NE(got.error().message.find("token 0 of the text"), std::string::npos) << got.error().message;
}

TEST(Perplexity, WhatItTakesOfMemoryIsForeseen) {
  const std::vector<TokenId> text = tokens(300);
  const PerplexityOptions options{.context = 130, .chunk = 50};
  const MemoryRequest request = memory_to_score(options, 300);
  EXPECT_EQ(request.context, 129);
  EXPECT_EQ(request.chunk, 50);
  EXPECT_TRUE(request.all_logits);
  EXPECT_EQ(memory_to_score({.context = 130, .chunk = 500}, 300).chunk, 129);
  EXPECT_EQ(memory_to_score({.context = 130, .chunk = 500}, 20).context, 20);
  EXPECT_EQ(memory_to_score({.context = 130, .chunk = 500}, 0).chunk, 1);

  Context context;
  ASSERT_TRUE(set_aside(mini(), context, request));
  const std::int64_t before = context.scratch.peak_bytes();
  ASSERT_TRUE(score_tokens(mini(), context, text, options));
  EXPECT_EQ(context.scratch.peak_bytes(), before);
}

TEST(Perplexity, WindowsAreTheModelsContextWhereThatIsShort) {
  Config config = mini().model.config();
  EXPECT_EQ(default_window(config), 512);
  config.max_seq_len = 1 << 20;
  EXPECT_EQ(default_window(config), 2048);
}

TEST(Perplexity, OfWhatFollowsAPromptIsThatOfTheSameTokens) {
  const auto text = tokens(length);
  for (const std::size_t context : {5u, 8u, 24u}) {
    const auto all = nats_by_hand(text, context);
    for (std::size_t prompt = 1; prompt < context; ++prompt) {
      std::vector<double> want;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % (context - 1) + 1 >= prompt) want.push_back(all[i]);
      }
      for (const std::int64_t chunk : {1, 3, 100}) {
        const auto got = score(text, {.context = static_cast<std::int64_t>(context),
                                      .chunk = chunk,
                                      .prompt = static_cast<std::int64_t>(prompt)});
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->tokens, std::ssize(want)) << context << " " << prompt;
        EXPECT_TRUE(got->complete());
        EXPECT_NEAR(got->nats, sum(want), 1e-6 * sum(want)) << context << " " << prompt << " " << chunk;
      }
    }
  }
  EXPECT_FALSE(score(text, {.context = 8, .prompt = 8}));
  EXPECT_FALSE(score(text, {.context = 8, .prompt = 0}));
  const auto nothing = score(tokens(3), {.context = 8, .prompt = 5});
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("a prompt takes 5"), std::string::npos) << nothing.error().message;
}

// The rows of a replayed prompt, put together by hand.
TEST(Perplexity, BehindAReplayedPromptIsThatOfItsRows) {
  constexpr std::int64_t prompt = 100, scored = 20;
  const auto text = tokens(prompt + scored - 1);
  std::vector<Row> rows = {{.token = TokenId{0}}};
  for (std::size_t i = 0; i + 1 < text.size(); ++i) rows.push_back({.token = text[i]});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r].global_only = r < prompt - 56;
    rows[r].wants_logits = r + 1 >= prompt;
  }
  Context context;
  Sequence sequence = mini().model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  ASSERT_TRUE(mini().model.forward(context, {one, rows}, logits));
  double want = 0;
  for (std::size_t i = 0; i < scored; ++i) {
    want -= logprobs(std::span<const float>(logits).subspan(i * 497, 497), text[prompt - 1 + i], 0).chosen;
  }
  for (const std::int64_t chunk : {1, 7, 64, 256}) {
    const PerplexityOptions options{.context = 200, .chunk = chunk, .prompt = prompt, .prefill = Prefill::replay};
    const auto got = score(text, options);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->tokens, scored);
    EXPECT_DOUBLE_EQ(got->nats, want) << chunk;
  }
  EXPECT_NE(score(text, {.context = 200, .prompt = prompt})->nats, want);
}

}  // namespace
}  // namespace cachalot::perplexity_test
