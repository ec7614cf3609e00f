// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/test_generate.h"

namespace cachalot::generate_choices_test {
namespace {

SamplingOptions lively() { return {.temperature = 1.5, .seed = 5, .top_k = 200, .top_p = 0.98, .min_p = 0.001}; }

// What can be told of a completion: ids, logprobs, text and end.
void expect_same(const Completion& got, const Completion& want) {
  ASSERT_EQ(ids(got), ids(want));
  EXPECT_EQ(got.text, want.text);
  EXPECT_EQ(got.end, want.end);
  EXPECT_EQ(got.stop_string, want.stop_string);
  for (std::size_t i = 0; i < got.tokens.size(); ++i) {
    EXPECT_EQ(got.tokens[i].position, want.tokens[i].position);
    EXPECT_EQ(got.tokens[i].logprob, want.tokens[i].logprob);  // every bit
    ASSERT_EQ(got.tokens[i].top.size(), want.tokens[i].top.size());
    for (std::size_t k = 0; k < got.tokens[i].top.size(); ++k)
      EXPECT_EQ(got.tokens[i].top[k].logprob, want.tokens[i].top[k].logprob);
  }
}

// Each of n choices against a run of its own.
void expect_each_as_alone(const std::vector<TokenId>& prompt, GenerateOptions options, std::int64_t n) {
  options.choices = n;
  const auto together = run(prompt, options);
  ASSERT_TRUE(together.has_value()) << together.error().message;
  ASSERT_EQ(static_cast<std::int64_t>(together->choices.size()), n);
  const std::uint32_t first = options.sampling.choice;
  options.choices = 1;
  for (std::int64_t c = 0; c < n; ++c) {
    SCOPED_TRACE(c);
    options.sampling.choice = first + static_cast<std::uint32_t>(c);
    const auto alone = run(prompt, options);
    ASSERT_TRUE(alone.has_value());
    expect_same(together->choices[static_cast<std::size_t>(c)], alone->choices[0]);
  }
}

TEST(Choices, EachIsWhatItWouldBeAlone) {
  GenerateOptions options{.max_tokens = 12, .sampling = lively()};
  options.logprobs = 3;
  for (const std::int64_t n : {1, 4}) expect_each_as_alone(tokens(9), options, n);
  options.sampling.choice = 7;
  options.chunk = 4;
  expect_each_as_alone(tokens(9), options, 2);
}

TEST(Choices, GoTheirOwnWayAcrossABorderOfPages) {
  const std::int64_t page = mini().model.state_shape().page_tokens;
  expect_each_as_alone(tokens(page - 5), {.max_tokens = 12, .sampling = lively()}, 2);
}

TEST(Choices, WithPenaltiesCountTheirOwnTokens) {
  GenerateOptions options{.max_tokens = 16, .sampling = lively()};
  options.sampling.repetition_penalty = 1.5;
  options.sampling.frequency_penalty = 0.5;
  options.sampling.presence_penalty = 0.5;
  expect_each_as_alone(tokens(9), options, 3);
}

TEST(Choices, EndOneByOneWhileTheOthersGoOn) {
  GenerateOptions options{.max_tokens = 24, .sampling = lively()};
  for (std::int32_t id = 1; id < 497; id += 16) options.stop_tokens.push_back(TokenId{id});
  options.sampling.min_tokens = 1;
  expect_each_as_alone(tokens(9), options, 6);
  options.choices = 6;
  const auto g = run(tokens(9), options);
  std::vector<std::size_t> lengths;
  for (const Completion& c : g->choices) lengths.push_back(c.tokens.size());
  std::ranges::sort(lengths);
  EXPECT_NE(lengths.front(), lengths.back()) << "the case shows nothing unless they end at different steps";
}

TEST(Choices, DifferAndTellWhoseTokenItIs) {
  std::vector<std::vector<TokenId>> told(3);
  std::vector<std::string> text(3);
  GenerateEvents events;
  events.token = [&](const GeneratedToken& t) { told[static_cast<std::size_t>(t.choice)].push_back(t.id); };
  events.text = [&](std::int64_t c, std::string_view piece) { text[static_cast<std::size_t>(c)] += piece; };
  GenerateOptions options{.max_tokens = 10, .sampling = lively()};
  options.choices = 3;
  const auto g = run(tokens(9), options, events);
  ASSERT_TRUE(g.has_value());
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(told[c], ids(g->choices[c]));
    EXPECT_EQ(text[c], g->choices[c].text);
  }
  EXPECT_NE(told[0], told[1]);
  EXPECT_NE(told[1], told[2]);
}

TEST(Choices, LeaveTheSequenceAsTheFirstOne) {
  const auto next_logits = [&](std::int64_t choices) {
    Context context;
    Sequence sequence = mini().model.new_sequence();
    GenerateOptions options{.max_tokens = 6, .sampling = lively()};
    options.choices = choices;
    EXPECT_TRUE(generate(mini(), context, sequence, tokens(9), options).has_value());
    EXPECT_EQ(sequence.length(), 9 + 5);
    Sequence* const one[] = {&sequence};
    const Row row[] = {{.token = TokenId{5}, .wants_logits = true}};
    std::vector<float> logits;
    EXPECT_TRUE(mini().model.forward(context, {one, row, nullptr}, logits).has_value());
    return logits;
  };
  EXPECT_EQ(next_logits(4), next_logits(1));
}

TEST(Choices, AreAllInterruptedAtOnceAndEndWhereTheContextEnds) {
  GenerateOptions options{.max_tokens = 50, .sampling = lively()};
  options.choices = 2;
  int made = 0;
  GenerateEvents events;
  events.token = [&](const GeneratedToken&) { ++made; };
  events.interrupted = [&] { return made == 6; };
  const auto g = run(tokens(9), options, events);
  ASSERT_TRUE(g.has_value());
  for (const Completion& c : g->choices) {
    EXPECT_EQ(c.end, EndReason::interrupted);
    EXPECT_EQ(c.tokens.size(), 3u);
  }
  events.interrupted = [] { return true; };
  const auto at_once = run(tokens(9), options, events);
  for (const Completion& c : at_once->choices) EXPECT_EQ(c.end, EndReason::interrupted);
  const auto full = run(tokens(mini().model.config().max_seq_len - 3), options);
  for (const Completion& c : full->choices) {
    EXPECT_EQ(c.end, EndReason::context);
    EXPECT_EQ(c.tokens.size(), 4u);
  }
}

TEST(Choices, FewerThanOneAreRefused) {
  for (const std::int64_t n : {0, -1}) {
    GenerateOptions options;
    options.choices = n;
    const auto g = run(tokens(3), options);
    ASSERT_FALSE(g.has_value());
    EXPECT_EQ(g.error().message, fmt::format("{} choices: expected 1 or more", n));
  }
}

}  // namespace
}  // namespace cachalot::generate_choices_test
