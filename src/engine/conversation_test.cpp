// SPDX-License-Identifier: Apache-2.0
#include "engine/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/test_conversation.h"
#include "engine/test_generate.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot::conversation_test {
namespace {

constexpr ConversationOptions no_thinking = {.chat = {.mode = ChatMode::chat}};

Answer say(Conversation& conversation, std::string_view text, const GenerateOptions& options = short_answers(),
           const AnswerEvents& events = {}) {
  const Json said = user(text);
  auto answer = conversation.answer({&said, 1}, options, events);
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
  return answer ? std::move(*answer) : Answer();
}

std::string dump(std::span<const Json> messages) {
  std::string all;
  for (const Json& m : messages) all += json_text(m) + '\n';
  return all;
}

Json parsed(std::string_view text) { return *parse_json(text, "test", chat_json_rules); }

constexpr std::string_view call_of_weather =
    "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" "
    "string=\"true\">Paris</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";

TEST(Conversation, ATokenizerWithoutTheFormatsTokensIsRefusedWithAllTheirNames) {
  const auto conversation = Conversation::start(mini(), ScriptedModel());
  ASSERT_FALSE(conversation.has_value());
  EXPECT_EQ(conversation.error().code, Errc::missing);
  EXPECT_NE(conversation.error().message.find("<｜System｜>"), std::string::npos) << conversation.error().message;
  EXPECT_NE(conversation.error().message.find("<｜title｜>"), std::string::npos) << conversation.error().message;
}

// Whoever sees only the text could take what follows such a token for a turn of the user's.
TEST(Conversation, AnAnswerEndsWhereTheModelWouldBeginAnotherTurn) {
  std::vector<TokenId> stops;
  ScriptedModel model{.lines = {"I see."}};
  Conversation conversation = begin([&](Sequence& sequence, std::span<const TokenId> prompt,
                                        const GenerateOptions& options, const GenerateEvents& events) {
    stops = options.stop_tokens;
    return model(sequence, prompt, options, events);
  });
  say(conversation, "Look.");
  for (const char* opener : {"<｜begin▁of▁sentence｜>", "<｜System｜>", "<｜User｜>", "<｜Assistant｜>"}) {
    const auto id = demo_model().tokenizer.id_of(opener);
    ASSERT_TRUE(id) << opener;
    EXPECT_NE(std::ranges::find(stops, *id), stops.end()) << opener;
  }
}

// The tokens that are not run again change no bit: every answer is that of a conversation that begins with it.
TEST(Conversation, EachAnswerIsThatOfAFreshSequence) {
  struct Case {
    ConversationOptions options;
    bool scripted;
  };
  ConversationOptions keeping;
  keeping.chat.drop_thinking = false;
  for (const Case& c : {Case{no_thinking, false}, {ConversationOptions{}, true}, {keeping, true}}) {
    ScriptedModel model;
    Conversation going_on = begin(std::ref(model), c.options);
    for (const char* text : {"Call me.", "Who are you?", "And then the sea?"}) {
      const auto before = going_on.messages();
      const std::vector<Json> messages(before.begin(), before.end());
      Conversation fresh = begin(ScriptedModel(), c.options);
      ASSERT_TRUE(fresh.replace(messages, c.options));
      if (c.scripted) model.lines = {"I think of it.</think>It is the sea, and a long way to go in it by day."};
      const Answer answer = say(going_on, text);
      if (!messages.empty()) {
        EXPECT_GT(answer.cached_tokens, answer.prompt_tokens / 2) << text;
      }
      if (c.scripted) continue;
      EXPECT_EQ(answer.message, say(fresh, text).message) << text;
    }
    const auto before = going_on.messages();
    Conversation fresh = begin(ScriptedModel(), c.options);
    ASSERT_TRUE(fresh.replace({before.begin(), before.end()}, c.options));
    const Answer answer = say(going_on, "So?"), again = say(fresh, "So?");
    EXPECT_GT(answer.cached_tokens, 0);
    EXPECT_EQ(again.cached_tokens, 0);
    EXPECT_EQ(answer.prompt_tokens, again.prompt_tokens);
    EXPECT_EQ(answer.message, again.message);
  }
}

TEST(Conversation, WithoutPruningOnlyTheNewTurnIsRun) {
  ScriptedModel model;
  Conversation c = begin(std::ref(model), no_thinking);
  model.lines = {"It is a whale of the deep seas, and it has teeth, as few of them do."};
  const Answer first = say(c, "What is a cachalot?");
  const Answer second = say(c, "And then?");
  EXPECT_EQ(first.cached_tokens, 0);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens + first.tokens - 1);  // its EOS was drawn and not run
}

// The text of an answer is cut into tokens anew, and not always into those that were drawn.
TEST(Conversation, AnAnswerThatBecomesOtherTokensIsRunAgainOnlyFromThereOn) {
  std::vector<TokenId> prompt, drawn;
  Conversation conversation = begin([&](Sequence& sequence, std::span<const TokenId> given,
                                        const GenerateOptions& options, const GenerateEvents& events) {
    Context context;
    auto result = generate(demo_model(), context, sequence, given, options, events);
    if (drawn.empty()) {
      drawn.assign(given.begin(), given.end());
      for (const GeneratedToken& t : result->choices[0].tokens) drawn.push_back(t.id);
    }
    prompt.assign(given.begin(), given.end());
    return result;
  });
  ASSERT_TRUE(conversation.replace({}, no_thinking));
  GenerateOptions options = short_answers(200);
  options.sampling = {.temperature = 0.8, .seed = 1, .logit_bias = {{TokenId{1}, -100}}};
  const Answer first = say(conversation, "Tell me a story about a whale and a ship.", options);
  const Answer next = say(conversation, "And then?", short_answers(1));
  const auto same = std::ranges::mismatch(drawn, prompt).in1 - drawn.begin();
  const std::int64_t others = std::ssize(drawn) - same;
  EXPECT_GE(next.cached_tokens, same - std::max<std::int64_t>(64, others / 4));
  EXPECT_GT(same - 64, first.prompt_tokens) << "or the state behind the header would do";
  EXPECT_GT(others, demo_model().model.state_shape().slack) << "or the state at the end would do";
}

TEST(Conversation, PrunedReasoningIsRunAgainFromTheEndOfTheLastPrompt) {
  ScriptedModel model;
  Conversation c = begin(std::ref(model));
  model.lines = {"They ask about a whale, so I say what it is and where it lives.</think>It is a whale."};
  const Answer first = say(c, "What is a cachalot?");
  EXPECT_FALSE(first.message.reasoning.empty());
  EXPECT_EQ(first.message.content, "It is a whale.");
  const Answer second = say(c, "And then?");
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens - 1);  // <think> has become </think>
}

TEST(Conversation, ReplayedPromptsGoOnAsReplaysAndNeverAsExact) {
  Conversation c = begin(ScriptedModel(), no_thinking), exact = begin(ScriptedModel(), no_thinking);
  GenerateOptions replay = short_answers();
  replay.prefill = Prefill::replay;
  const std::string long_text =
      "Tell me what the sea is like when the wind is high, and what the men on a ship do then, and whether they are "
      "afraid of it, and what they eat, and when they sleep.";
  const Answer first = say(c, long_text, replay);
  EXPECT_LT(first.layer_tokens.run, first.layer_tokens.exact);
  const Answer second = say(c, "And then?", replay);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens + first.tokens - 1);
  EXPECT_EQ(second.layer_tokens.run, second.layer_tokens.exact) << "shorter than the tail";
  // Whoever asks for an exact answer then gets one: that of a conversation that is exact from its beginning.
  ASSERT_TRUE(exact.replace({c.messages().begin(), c.messages().end()}, no_thinking));
  const Answer third = say(c, "Why?");
  EXPECT_EQ(third.cached_tokens, 0);
  EXPECT_EQ(third.message.content, say(exact, "Why?").message.content);
}

TEST(Conversation, AChangedBeginningIsRunFromTheStart) {
  Conversation c = begin(ScriptedModel(), no_thinking);
  (void)say(c, "Call me.");
  std::vector<Json> messages = {parsed(R"({"role": "system", "content": "Be brief."})")};
  messages.insert(messages.end(), c.messages().begin(), c.messages().end());
  ASSERT_TRUE(c.replace(messages, no_thinking));
  EXPECT_LT(say(c, "And then?").cached_tokens, 2);
}

TEST(Conversation, AnAnswerThatWasCutStaysAsAnOpenTurn) {
  ScriptedModel model;
  Conversation c = begin(std::ref(model), no_thinking);
  const Answer cut = say(c, "Call me.", short_answers(5));
  EXPECT_EQ(cut.end, EndReason::length);
  EXPECT_NE(dump(c.messages()).find("\"wo_eos\": true"), std::string::npos) << dump(c.messages());
  EXPECT_EQ(say(c, "And?").cached_tokens, cut.prompt_tokens + cut.tokens - 1);
  Conversation whole = begin(std::ref(model), no_thinking);
  model.lines = {"Aye."};
  (void)say(whole, "Call me.");
  EXPECT_EQ(dump(whole.messages()).find("wo_eos"), std::string::npos);
}

TEST(Conversation, AnInterruptKeepsWhatThereIsAndOneBeforeTheAnswerKeepsNothing) {
  Conversation c = begin(ScriptedModel(), no_thinking);
  bool stop = true;
  AnswerEvents events;
  events.interrupted = [&] { return stop; };
  const Answer none = say(c, "Call me.", short_answers(), events);
  EXPECT_EQ(none.end, EndReason::interrupted);
  EXPECT_FALSE(none.kept);
  EXPECT_TRUE(c.messages().empty());
  stop = false;
  std::string told;
  events.content = [&](std::string_view text) {
    told += text;
    stop = true;
  };
  const Answer some = say(c, "Call me.", short_answers(), events);
  EXPECT_EQ(some.end, EndReason::interrupted);
  EXPECT_TRUE(some.kept);
  EXPECT_EQ(some.message.content, told);
  ASSERT_EQ(c.messages().size(), 2u);
  EXPECT_EQ(*c.messages()[1].find("content"), Json(told));
  EXPECT_EQ(*c.messages()[1].find("wo_eos"), Json(true));
}

TEST(Conversation, CallsWaitForResultsAndTheResultsAreAnswered) {
  ScriptedModel model;
  Conversation c = begin(std::ref(model), no_thinking);
  ASSERT_TRUE(c.add(std::vector{parsed(
      R"({"role": "system", "content": "", "tools": [{"type": "function", "function": {"name": "get_weather"}}]})")}));
  EXPECT_TRUE(open_calls(c.messages()).empty());
  model.lines = {"Let me look." + std::string(call_of_weather)};
  std::vector<ToolCall> told;
  AnswerEvents events;
  events.call = [&](const ToolCall& call) { told.push_back(call); };
  const Answer answer = say(c, "How is the weather?", short_answers(), events);
  EXPECT_EQ(answer.message.content, "Let me look.");
  const auto open = open_calls(c.messages());
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open, told);
  EXPECT_EQ(open[0].name, "get_weather");
  EXPECT_EQ(open[0].arguments, R"({"city": "Paris"})");
  EXPECT_FALSE(open[0].id.empty());
  const Json result = Json::object({{"role", "tool"}, {"tool_call_id", open[0].id}, {"content", "rain"}});
  model.lines = {"It rains."};
  const auto after = c.answer({&result, 1}, short_answers(), {});
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->message.content, "It rains.");
  EXPECT_TRUE(open_calls(c.messages()).empty());
}

TEST(Conversation, CallsOfAnInterruptedAnswerAreDropped) {
  ScriptedModel model;
  model.end = EndReason::interrupted;
  model.lines = {"Let me look." + std::string(call_of_weather)};
  Conversation c = begin(std::ref(model), no_thinking);
  const Answer answer = say(c, "How is the weather?");
  EXPECT_TRUE(answer.kept);
  EXPECT_TRUE(open_calls(c.messages()).empty());
  model.lines = {"Let me look." + std::string(call_of_weather)};
  model.end = EndReason::length;  // complete calls of an answer that ran out stand
  (void)say(c, "How is the weather?");
  EXPECT_EQ(open_calls(c.messages()).size(), 1u);
}

TEST(Conversation, OpenCallsAreThoseOfTheLastAnswerInOrderWithoutTheAnsweredOnes) {
  const Json list = parsed(R"([
    {"role": "assistant", "tool_calls": [{"id": "old", "function": {"name": "f", "arguments": {}}}]},
    {"role": "user", "content": "never mind"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "n::f", "arguments": {"x": 1}}},
      {"function": {"name": "g", "arguments": "{}", "id": "b"}}, {"function": {"name": "h", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "b", "content": ""}])");
  const auto open = open_calls(list.items());
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0], (ToolCall{.id = "a", .space = "n", .name = "f", .arguments = R"({"x": 1})"}));
  EXPECT_EQ(open[1].name, "h");
  EXPECT_TRUE(open_calls(list.items().first(2)).empty());
  EXPECT_EQ(open_calls(list.items().first(1)).size(), 1u);
}

TEST(Conversation, WhatCannotBeSaidIsAnErrorAndTheConversationGoesOn) {
  Conversation c = begin(ScriptedModel(), no_thinking);
  (void)say(c, "Call me.", short_answers(3));
  const std::string before = dump(c.messages());
  std::string endless;
  for (std::int64_t i = 0; i < c.context_tokens(); ++i) endless += " whale";
  for (const Json& said :
       {user(endless), user("<｜deepseek_image｜>"), user("\xff"), parsed(R"({"role": "nobody"})")}) {
    const auto answer = c.answer({&said, 1}, short_answers(), {});
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(dump(c.messages()), before) << answer.error().message;
  }
  const Json said = user(endless);
  const auto answer = c.answer({&said, 1}, short_answers(), {});
  EXPECT_EQ(answer.error().code, Errc::range);
  EXPECT_NE(answer.error().message.find("/reset"), std::string::npos) << answer.error().message;
  EXPECT_NE(answer.error().message.find("8192 positions"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(say(c, "And then?", short_answers(3)).kept);
}

TEST(Conversation, AnAnswerThatCannotStandInAPromptIsTakenBack) {
  ScriptedModel model;
  Conversation c = begin(std::ref(model), no_thinking);
  model.lines = {"\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"a::b::c\">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"};
  const Json said = user("Call.");
  const auto answer = c.answer({&said, 1}, short_answers(), {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().message.find("can't stay in the conversation"), std::string::npos);
  EXPECT_TRUE(c.messages().empty());
  EXPECT_TRUE(say(c, "And then?").kept);
}

TEST(Conversation, AFailedAnswerLeavesASequenceThatGoesOn) {
  ScriptedModel model;
  bool fail_next = false;
  Conversation c = begin(
      [&](Sequence& s, std::span<const TokenId> prompt, const GenerateOptions& o,
          const GenerateEvents& e) -> Expected<Generation> {
        auto result = model(s, prompt, o, e);
        if (fail_next) return fail(Errc::memory, "planted");
        return result;
      },
      no_thinking);
  (void)say(c, "Call me.");
  fail_next = true;
  const Json said = user("Lost.");
  EXPECT_FALSE(c.answer({&said, 1}, short_answers(), {}).has_value());
  EXPECT_EQ(c.messages().size(), 2u);
  fail_next = false;
  Conversation fresh = begin(ScriptedModel(), no_thinking);
  ASSERT_TRUE(fresh.replace({c.messages().begin(), c.messages().end()}, no_thinking));
  EXPECT_EQ(say(c, "And then?").message, say(fresh, "And then?").message);
}

}  // namespace
}  // namespace cachalot::conversation_test
