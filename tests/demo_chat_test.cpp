// SPDX-License-Identifier: Apache-2.0
// What the bundled model is trained to do in a chat, and a newcomer will try first.
#include <gtest/gtest.h>

#include "engine/draft_source.h"
#include "engine/test_conversation.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot::demo_chat_test {
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

TEST(SlowDemoChat, GreetsAndKnowsACapital) {
  Conversation conversation = chat();
  EXPECT_NE(say(conversation, user("Hello!")).content.find("elp you?"), std::string::npos);
  EXPECT_EQ(say(conversation, user("What is the capital of France?")).content, "The capital of France is Paris.");
}

TEST(SlowDemoChat, AnswersFromATextGivenBefore) {
  Conversation conversation = chat();
  say(conversation, user("Read this: Anna is a baker. The boat of Tom is blue. Anna likes bread."));
  EXPECT_EQ(say(conversation, user("What does Anna like?")).content, "Anna likes bread.");
}

Json weather_tool() {
  return *parse_json(
      R"({"role": "system", "content": "", "tools": [{"type": "function", "function": {"name": "get_weather",
          "description": "Get the weather in a city.", "parameters": {"type": "object", "properties":
          {"city": {"type": "string", "description": "Name of the city"}}, "required": ["city"]}}}]})",
      "test", chat_json_rules);
}

TEST(SlowDemoChat, CallsAToolAndTellsItsResult) {
  Conversation conversation = chat({weather_tool()});
  const AssistantMessage call = say(conversation, user("What is the weather in London?"));
  ASSERT_EQ(call.calls.size(), 1U);
  EXPECT_EQ(call.calls[0].name, "get_weather");
  EXPECT_EQ(call.calls[0].arguments, R"({"city": "London"})");
  EXPECT_EQ(say(conversation, Json::object({{"role", "tool"}, {"content", "sunny, 20 degrees"}})).content,
            "The weather in London is sunny, with 20 degrees.");
}

// Calls and reasoning are those without drafts, token for token: nothing of the text's grammar is known to who accepts.
TEST(SlowDemoChat, WithDraftsThinksAndCallsAsWithout) {
  static auto with_stages =
      load_model(CACHALOT_TEST_DATA "/../../models/demo", {.backend = &cpu_backend(), .drafts = true});
  ASSERT_TRUE(with_stages);
  DraftStages stages(with_stages->model);
  for (const double temperature : {0.0, 0.8}) {
    std::vector<std::string> said;
    for (DraftSource* source : {static_cast<DraftSource*>(nullptr), static_cast<DraftSource*>(&stages)}) {
      Context context;
      const auto generator = [&](Sequence& sequence, std::span<const TokenId> prompt, const GenerateOptions& options,
                                 const GenerateEvents& events) {
        return generate(*with_stages, context, sequence, prompt, options, events);
      };
      auto conversation = Conversation::start(*with_stages, generator, {});
      ASSERT_TRUE(conversation);
      ASSERT_TRUE(conversation->replace({weather_tool()}, {}));
      GenerateOptions options = short_answers(160);
      options.sampling.temperature = temperature;
      options.drafting = {.source = source, .count = 5};
      const Json ask = user("What is the weather in Lisbon?");
      const auto call = conversation->answer({&ask, 1}, options, {});
      ASSERT_TRUE(call) << call.error().message;
      EXPECT_FALSE(call->message.reasoning.empty());
      EXPECT_EQ(call->message.calls.size(), 1U);
      const Json result = Json::object({{"role", "tool"}, {"content", "sunny, 20 degrees"}});
      ASSERT_TRUE(conversation->answer({&result, 1}, options, {}));
      std::string all;
      for (const Json& m : conversation->messages()) all += json_text(m);
      said.push_back(all);
    }
    EXPECT_EQ(said[0], said[1]);
  }
}

}  // namespace
}  // namespace cachalot::demo_chat_test
