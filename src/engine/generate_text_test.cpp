// SPDX-License-Identifier: Apache-2.0
// Text, and what ends it or must not be in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/test_generate.h"

namespace cachalot::generate_text_test {
namespace {

const TokenId eos{1};

std::string decode(const std::vector<TokenId>& tokens) { return *mini().tokenizer.decode(tokens, SpecialTokens::skip); }

// A greedy run that repeats nothing: its text is a good place to look for pieces of it.
GenerateOptions varied(std::int64_t n) {
  GenerateOptions options{.max_tokens = n};
  options.sampling.frequency_penalty = 100;
  return options;
}

TEST(GenerateText, IsTheDecodedIdsPieceByPiece) {
  std::string told;
  GenerateEvents events;
  events.text = [&](std::int64_t choice, std::string_view piece) {
    EXPECT_EQ(choice, 0);
    EXPECT_FALSE(piece.empty());
    told += piece;
  };
  const auto g = run(tokens(4), varied(40), events);
  ASSERT_TRUE(g.has_value());
  EXPECT_EQ(g->choices[0].text, decode(ids(g->choices[0])));
  EXPECT_EQ(told, g->choices[0].text);
  EXPECT_FALSE(told.empty());
}

TEST(GenerateText, LeavesOutTheStopTokenWhichTheIdsKeep) {
  const auto all = ids(run(tokens(4), varied(6))->choices[0]);
  GenerateOptions options = varied(6);
  options.stop_tokens = {all[3]};
  const auto g = run(tokens(4), options);
  EXPECT_EQ(ids(g->choices[0]), std::vector<TokenId>(all.begin(), all.begin() + 4));
  EXPECT_EQ(g->choices[0].text, decode({all.begin(), all.begin() + 3}));
  EXPECT_EQ(g->choices[0].end, EndReason::stop);
}

TEST(GenerateText, EndsBeforeAStopStringAcrossTokensAndTellsWhichOne) {
  const auto free = run(tokens(4), varied(40));
  const std::string& text = free->choices[0].text;
  const auto all = ids(free->choices[0]);
  int tried = 0;
  for (std::size_t at = 0; at + 4 < text.size(); at += 3) {
    const std::string stop = text.substr(at, 4);
    if (std::ranges::any_of(stop, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) continue;
    GenerateOptions options = varied(40);
    options.stop_strings = {"never to be found", stop};
    std::string told;
    GenerateEvents events;
    events.text = [&](std::int64_t, std::string_view piece) { told += piece; };
    const auto g = run(tokens(4), options, events);
    ASSERT_TRUE(g.has_value());
    const Completion& c = g->choices[0];
    EXPECT_EQ(c.end, EndReason::stop_string) << stop;
    EXPECT_EQ(c.stop_string, stop);
    EXPECT_EQ(c.text, text.substr(0, text.find(stop)));
    EXPECT_EQ(told, c.text);
    // It ends with the token that completes the string.
    const auto n = c.tokens.size();
    ASSERT_TRUE(std::ranges::equal(ids(c), std::span(all).first(n)));
    EXPECT_NE(decode({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}).find(stop), std::string::npos);
    EXPECT_EQ(decode({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n) - 1}).find(stop), std::string::npos);
    ++tried;
  }
  EXPECT_GT(tried, 3);
}

TEST(GenerateText, WhatWasHeldBackComesWhenTheRunEndsOtherwise) {
  const auto free = run(tokens(4), varied(12));
  const std::string& text = free->choices[0].text;
  GenerateOptions options = varied(12);
  std::size_t at = text.size() / 2;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;  // to where a character begins
  options.stop_strings = {text.substr(at) + "?"};
  const auto g = run(tokens(4), options);
  EXPECT_EQ(g->choices[0].text, text);
  EXPECT_EQ(g->choices[0].end, EndReason::length);
  EXPECT_EQ(g->choices[0].stop_string, "");
}

TEST(GenerateText, AStopStringWithinTheFirstMinTokensDoesNotCount) {
  const auto free = run(tokens(4), varied(40));
  const auto all = ids(free->choices[0]);
  for (const std::int64_t least : {0, 1, 2, 5}) {
    GenerateOptions options = varied(40);
    options.sampling.min_tokens = least;
    for (char c = ' '; c <= '~'; ++c) options.stop_strings.emplace_back(1, c);
    const auto g = run(tokens(4), options);
    ASSERT_EQ(g->choices[0].end, EndReason::stop_string);
    // The first token beyond them whose text has such a character ends it.
    std::size_t n = static_cast<std::size_t>(least);
    const auto has = [&](TokenId id) {
      return !mini().tokenizer.is_special(id) &&
             std::ranges::any_of(mini().tokenizer.token_bytes(id), [](char c) { return c >= ' ' && c <= '~'; });
    };
    while (!has(all[n])) ++n;
    EXPECT_EQ(g->choices[0].tokens.size(), n + 1) << least;
  }
}

TEST(Generate, MinTokensHoldOffTheStopTokenExactlySoLong) {
  for (const std::int64_t least : {0, 1, 4}) {
    GenerateOptions options{.max_tokens = 10};
    options.sampling.min_tokens = least;
    options.sampling.logit_bias = {{eos, 99}};
    options.stop_tokens = {eos};
    const auto g = run(tokens(4), options);
    ASSERT_TRUE(g.has_value());
    EXPECT_EQ(static_cast<std::int64_t>(g->choices[0].tokens.size()), least + 1);
    EXPECT_EQ(g->choices[0].end, EndReason::stop);
    EXPECT_EQ(std::ranges::count(ids(g->choices[0]), eos), 1);
  }
}

TEST(Generate, ReservedIdsAreNeverMadeWhateverTheirBias) {
  const TokenId picture = *mini().tokenizer.id_of("<｜deepseek_image｜>");
  for (const double temperature : {0.0, 1.0}) {
    GenerateOptions options{.max_tokens = 8, .sampling = {.temperature = temperature}};
    options.sampling.logit_bias = {{picture, 100}};
    EXPECT_EQ(std::ranges::count(ids(run(tokens(4), options)->choices[0]), picture), 0);
  }
}

TEST(Generate, ARowWithoutAPossibleTokenIsAnError) {
  GenerateOptions options;
  for (std::int32_t id = 0; id < 497; ++id) options.sampling.logit_bias.push_back({TokenId{id}, -100});
  const auto g = run(tokens(4), options);
  ASSERT_FALSE(g.has_value());
  EXPECT_EQ(g.error().code, Errc::range);
  EXPECT_TRUE(g.error().message.starts_with("position 4: no token is possible")) << g.error().message;
}

TEST(Generate, RefusesOptionsBeforeItRunsAnything) {
  Context context;
  Sequence sequence = mini().model.new_sequence();
  const auto error = [&](const GenerateOptions& options) {
    const auto g = generate(mini(), context, sequence, tokens(4), options);
    EXPECT_FALSE(g.has_value());
    EXPECT_EQ(sequence.length(), 0);
    return g ? std::string() : std::string(g.error().message);
  };
  GenerateOptions options;
  options.sampling.top_p = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error(options).find("top_p nan"), std::string::npos);
  options = {};
  options.sampling.logit_bias = {{TokenId{497}, 1}};
  EXPECT_NE(error(options).find("497: the vocabulary has ids 0 to 496"), std::string::npos);
  options = {};
  options.stop_strings = {""};
  EXPECT_NE(error(options).find("stop string is empty"), std::string::npos);
}

TEST(Generate, EndsAChoiceWhoseReaderHasSeenEnough) {
  GenerateOptions options = varied(10);
  options.choices = 2;
  GenerateEvents events;
  events.enough = [](const GeneratedToken& t) { return raw(t.position) == (t.choice == 0 ? 5 : 7); };
  const auto g = run(tokens(4), options, events);
  ASSERT_TRUE(g.has_value());
  EXPECT_EQ(g->choices[0].tokens.size(), 2u);
  EXPECT_EQ(g->choices[1].tokens.size(), 4u);
  for (const Completion& c : g->choices) EXPECT_EQ(c.end, EndReason::enough);
}

TEST(Generate, TheRepetitionPenaltySeesWhatTheSequenceHeldBefore) {
  const auto prompt = tokens(12);
  GenerateOptions options{.max_tokens = 10};
  options.sampling.repetition_penalty = 3;
  const auto whole = ids(run(prompt, options)->choices[0]);

  Context context;
  Sequence sequence = mini().model.new_sequence();
  const std::vector<TokenId> first(prompt.begin(), prompt.begin() + 7), second(prompt.begin() + 7, prompt.end());
  GenerateOptions nothing;
  nothing.max_tokens = 0;
  ASSERT_TRUE(generate(mini(), context, sequence, first, nothing).has_value());
  options.before = first;
  EXPECT_EQ(ids(generate(mini(), context, sequence, second, options)->choices[0]), whole);
}

}  // namespace
}  // namespace cachalot::generate_text_test
