// SPDX-License-Identifier: Apache-2.0
// Faults that users of other engines met with this format; each became a test.
#include <random>

#include "tokenizer/chat/conversations.h"
#include "tokenizer/chat/prompt_ids.h"
#include "tokenizer/chat/stream_goldens.h"

namespace cachalot::chat_faults_test {
namespace {

TEST(ChatFaults, AnImageTokenInASystemPromptIsRefusedWithItsPlaceAndReasonAndWithoutItAllGoesOn) {
  const auto conversation = [](std::string_view system) {
    return fmt::format(R"([{{"role": "system", "content": "{}"}}, {{"role": "user", "content": "q"}}])", system);
  };
  const ChatError error = error_of(conversation(fmt::format("Tag pictures with {}.", image_token)));
  EXPECT_EQ(error.index, 0u);
  EXPECT_EQ(error.message,
            fmt::format("messages[0]: content contains the image token {}; give images as blocks of type image_url",
                        image_token));
  EXPECT_EQ(prompt_of(conversation("Tag pictures.")),
            "<｜begin▁of▁sentence｜><｜System｜>Tag pictures.<｜User｜>q<｜Assistant｜></think>");
}

// Tools or none, thinking or not, old reasoning kept or not: the order of results and every marker.
TEST(ChatFaults, ResultsAndThinkingMarkersAreRightWithAndWithoutToolsThinkingAndHistory) {
  const std::string_view history = R"(
      {"role": "user", "content": "p"},
      {"role": "assistant", "content": "c", "reasoning_content": "r", "tool_calls": [
        {"id": "x", "function": {"name": "f", "arguments": {}}}, {"id": "y", "function": {"name": "g", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "y", "content": "Y"}, {"role": "tool", "tool_call_id": "x", "content": "X"},
      {"role": "assistant", "content": "a", "reasoning_content": "s"}, {"role": "user", "content": "q"}])";
  const std::string calls =
                        "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n\n</｜DSML｜ invoke>\n<｜DSML｜ invoke "
                        "name=\"g\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls><｜end▁of▁sentence｜>",
                    results = "<｜User｜><tool_result>X</tool_result>\n\n<tool_result>Y</tool_result><｜Assistant｜>";
  const std::string plain = "<｜User｜>p<｜Assistant｜></think>c" + calls + results +
                            "</think>a<｜end▁of▁sentence｜><｜User｜>q<｜Assistant｜>",
                    kept = "<｜User｜>p<｜Assistant｜><think>r</think>c" + calls + results +
                           "<think>s</think>a<｜end▁of▁sentence｜><｜User｜>q<｜Assistant｜><think>";
  for (const bool tools : {false, true}) {
    const std::string messages = fmt::format(R"([{{"role": "system", "content": "", "tools": {}}},{})",
                                             tools ? R"([{"function": {"name": "f"}}])" : "[]", history);
    for (const bool drop : {false, true}) {
      const std::string chat = prompt_of(messages, {.mode = ChatMode::chat, .drop_thinking = drop}),
                        thinking = prompt_of(messages, {.mode = ChatMode::thinking, .drop_thinking = drop});
      EXPECT_TRUE(chat.ends_with(plain + "</think>")) << chat;
      EXPECT_TRUE(thinking.ends_with(tools || !drop ? kept : plain + "<think>")) << thinking;
    }
  }
}

TEST(ChatFaults, HistoriesWithoutWithEmptyAndWithMixedReasoningAreAllTaken) {
  const auto prompt = [](const char* first, const char* second) {
    return thinking_prompt_of(
        fmt::format(R"([{{"role": "user", "content": "p"}}, {{"role": "assistant", "content": "a"{}}},
        {{"role": "user", "content": "q"}}, {{"role": "assistant", "content": "b"{}}}, {{"role": "user", "content": "z"}}])",
                    first, second),
        {.drop_thinking = false});
  };
  const auto expected = [](const char* first, const char* second) {
    return fmt::format(
        "<｜User｜>p<｜Assistant｜><think>{}</think>a<｜end▁of▁sentence｜><｜User｜>q<｜Assistant｜><think>{}</think>b"
        "<｜end▁of▁sentence｜><｜User｜>z<｜Assistant｜><think>",
        first, second);
  };
  const char *with = R"(, "reasoning_content": "r")", *empty = R"(, "reasoning_content": "")",
             *null = R"(, "reasoning_content": null)";
  EXPECT_EQ(prompt(with, with), expected("r", "r"));
  EXPECT_EQ(prompt("", ""), expected("", ""));
  EXPECT_EQ(prompt(null, empty), expected("", ""));
  EXPECT_EQ(prompt("", with), expected("", "r"));
  EXPECT_EQ(prompt(with, null), expected("r", ""));
}

TEST(ChatFaults, ThePromptIsRightWithNothingButATokenizerFile) {
  const Json messages = parse_or_fail(R"([{"role": "system", "content": "", "response_format": {"type": "json_object"}},
                                          {"role": "user", "content": "q"}])");
  const auto prompt = encode_chat(messages.items(), {.mode = ChatMode::thinking, .effort = 100});
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->joined(),
            "<｜begin▁of▁sentence｜><｜System｜>Reasoning Effort: 100 (range 1-100, the higher the value, the more "
            "thorough the "
            "reasoning)\n\n\n\n## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n"
            "{\"type\": \"json_object\"}<｜User｜>q<｜Assistant｜><think>");
  const auto ids = prompt_ids(released_tokenizer(), *prompt, MessageTokens::as_written);
  ASSERT_TRUE(ids.has_value());
  EXPECT_EQ(ids->front(), TokenId{0});
  EXPECT_EQ(ids->back(), TokenId{128821});
}

TEST(ChatFaults, AMarkerCutOverPiecesIsNeverShownAndTheNextCompletionIsAsNew) {
  std::string shown;
  {
    CompletionStream cut(ChatMode::thinking, {.reasoning = [&](std::string_view text) { shown += text; }});
    for (const char* piece : {"r", "<", "/th", "ink", ">a\n", "\n<｜DSML｜ ca"}) cut.push(piece);
    EXPECT_EQ(shown, "r");
    EXPECT_EQ(cut.message().content, "a");
  }
  const StreamResult next = read_in_pieces(ChatMode::thinking, {"lls>", "</think>b"}, CompletionEnd::eos);
  EXPECT_EQ(next.message, (AssistantMessage{.reasoning = "lls>", .content = "b"}));
  EXPECT_TRUE(next.flags.empty());
}

TEST(ChatFaults, WithoutAnEndOfThoughtAllIsReasoningAndNoMarkerShows) {
  for (const CompletionEnd end : {CompletionEnd::eos, CompletionEnd::length}) {
    const StreamResult result = read_in_pieces(ChatMode::thinking, {"The answer is 4."}, end);
    EXPECT_EQ(result.message, (AssistantMessage{.reasoning = "The answer is 4."}));
    EXPECT_EQ(result.flags, Names{"unterminated_reasoning"});
  }
}

TEST(ChatFaults, QuotedMarkupNeverBecomesACallWithInventedArguments) {
  const std::string quoted = "To call it, write:\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"NAME\">";
  for (const char* rest :
       {"", " and so on.", "\n", "\n<｜DSML｜ parameter name=\"KEY\" string=\"true|false\">VALUE", "\n...\n"}) {
    const StreamResult result = read_in_pieces(ChatMode::chat, {quoted + rest}, CompletionEnd::eos);
    EXPECT_TRUE(result.message.calls.empty()) << rest;
    EXPECT_EQ(result.message.content, quoted + rest);
    EXPECT_EQ(result.reason, FinishReason::stop);
  }
  const StreamResult unnamed =
      read_in_pieces(ChatMode::chat,
                     {"\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke>\n<｜DSML｜ parameter name=\"a\" "
                      "string=\"true\">1</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"},
                     CompletionEnd::eos);
  EXPECT_TRUE(unnamed.message.calls.empty());
}

// Golden completions with bytes taken out, doubled and moved; the fuzzer searches further.
TEST(ChatFaults, NoDamageMakesACallAndItsMarkupShowTogether) {
  std::mt19937 random(9);
  const std::vector<StreamCase> cases = completions_of_all_goldens();
  for (int i = 0; i < 5'000; ++i) {
    const StreamCase& one = cases[random() % cases.size()];
    std::string text = one.text();
    for (int damage = 0; damage < 3 && !text.empty(); ++damage) {
      const std::size_t from = random() % text.size(), size = random() % 24, to = random() % text.size();
      const std::string piece = text.substr(from, size);
      if (random() % 2 == 0) text.erase(from, size);
      if (random() % 2 == 0) text.insert(std::min(to, text.size()), piece);
    }
    const StreamResult whole = read_in_pieces(one.mode, {text}, one.end);
    ASSERT_EQ(read_in_pieces(one.mode, random_pieces(text, random), one.end), whole) << text;
    ASSERT_FALSE(shows_call_and_markup(whole, text)) << text;
    for (const ToolCall& call : whole.message.calls) ASSERT_TRUE(is_json(call.arguments)) << call.arguments;
  }
}

TEST(ChatFaults, ReplayedArgumentsAreTheSameForAnObjectAndItsTextOverFiveRounds) {
  Json object = parse_or_fail(R"({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function",
      "function": {"name": "f", "arguments": {"a": {"b": [1.5, "x"]}, "s": "{\"t\": 1}"}}}]})");
  Json text = object;
  Json& arguments = *text.find("tool_calls");
  arguments = parse_or_fail(R"([{"id": "c", "type": "function",
      "function": {"name": "f", "arguments": "{\"a\":{\"b\":[1.50,\"x\"]},\"s\":\"{\\\"t\\\": 1}\"}"}}])");
  std::vector<Json> history = {parse_or_fail(R"({"role": "user", "content": "q"})")};
  const std::string header = encode_chat(history, chat_mode)->joined();
  const auto completion = [&](const Json& message) {
    return encode_chat(std::vector{history[0], message}, chat_mode)->joined().substr(header.size());
  };
  const std::string first = completion(object);
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(completion(object), first) << round;
    EXPECT_EQ(completion(text), first) << round;
    text = message_json(parse_strict(completion(text), ChatMode::chat).value());
    object = message_json(parse_strict(completion(object), ChatMode::chat).value());
  }
}

TEST(ChatFaults, ABudgetThatThinkingUsedUpIsToldAsLengthWithTheReasoningInItsPlace) {
  const StreamResult result =
      read_in_pieces(ChatMode::thinking, {"So", " let me", " see", " whether", " it"}, CompletionEnd::length);
  EXPECT_EQ(result.reason, FinishReason::length);
  EXPECT_EQ(result.message, (AssistantMessage{.reasoning = "So let me see whether it"}));
  EXPECT_EQ(result.flags, Names{"unterminated_reasoning"});
}

}  // namespace
}  // namespace cachalot::chat_faults_test
