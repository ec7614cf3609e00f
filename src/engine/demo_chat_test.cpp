// SPDX-License-Identifier: Apache-2.0
// What the bundled model is trained to do in a chat, and a newcomer will try first.
#include <gtest/gtest.h>

#include "engine/test_conversation.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

Conversation chat(std::vector<Json> messages = {}) {
  Conversation conversation = begin(ScriptedModel());
  EXPECT_TRUE(conversation.replace(std::move(messages), {.chat = {.mode = ChatMode::chat}}));
  return conversation;
}

AssistantMessage say(Conversation& conversation, Json said) {
  GenerateOptions options = short_answers(160);
  options.sampling.temperature = 0;
  const auto answer = conversation.answer({&said, 1}, options, {});
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
  EXPECT_EQ(answer->end, EndReason::stop);
  return answer->message;
}

TEST(DemoChat, GreetsAndKnowsACapital) {
  Conversation conversation = chat();
  EXPECT_NE(say(conversation, user("Hello!")).content.find("elp you?"), std::string::npos);
  EXPECT_EQ(say(conversation, user("What is the capital of France?")).content, "The capital of France is Paris.");
}

TEST(DemoChat, AnswersFromATextGivenBefore) {
  Conversation conversation = chat();
  say(conversation, user("Read this: Anna is a baker. The boat of Tom is blue. Anna likes bread."));
  EXPECT_EQ(say(conversation, user("What does Anna like?")).content, "Anna likes bread.");
}

TEST(DemoChat, CallsAToolAndTellsItsResult) {
  const auto with_tools = parse_json(
      R"({"role": "system", "content": "", "tools": [{"type": "function", "function": {"name": "get_weather",
          "description": "Get the weather in a city.", "parameters": {"type": "object", "properties":
          {"city": {"type": "string", "description": "Name of the city"}}, "required": ["city"]}}}]})",
      "test", chat_json_rules);
  ASSERT_TRUE(with_tools);
  Conversation conversation = chat({*with_tools});
  const AssistantMessage call = say(conversation, user("What is the weather in London?"));
  ASSERT_EQ(call.calls.size(), 1U);
  EXPECT_EQ(call.calls[0].name, "get_weather");
  EXPECT_EQ(call.calls[0].arguments, R"({"city": "London"})");
  EXPECT_EQ(say(conversation, Json::object({{"role", "tool"}, {"content", "sunny, 20 degrees"}})).content,
            "The weather in London is sunny, with 20 degrees.");
}

}  // namespace
}  // namespace cachalot
