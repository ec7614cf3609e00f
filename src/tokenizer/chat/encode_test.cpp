// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/encode.h"

#include "tokenizer/chat/conversations.h"

namespace cachalot::encode_test {
namespace {

TEST(ChatEffort, DefaultIs75) {
  EXPECT_EQ(read_effort(nullptr).value(), 75);
  const Json null;
  EXPECT_EQ(read_effort(&null).value(), 75);
  EXPECT_EQ(ChatOptions{}.effort, 75);
  const std::string expected =
      "<｜begin▁of▁sentence｜><｜System｜>Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough "
      "the "
      "reasoning)\n\n<｜User｜>q<｜Assistant｜><think>";
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}])", thinking_mode), expected);
  const Json options = parse_or_fail(R"({"mode": "thinking"})");
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}])", read_chat_options(options).value()), expected);
}

TEST(ChatEffort, NamesAndWholeNumbersAreThoseOfTheReleasedRevision) {
  const std::pair<const char*, int> cases[] = {{"\"low\"", 50}, {"\"high\"", 75}, {"\"max\"", 100},
                                               {"1", 1},        {"99", 99},       {"100", 100}};
  for (const auto& [text, effort] : cases) {
    const Json value = parse_or_fail(text);
    EXPECT_EQ(read_effort(&value).value(), effort);
  }
}

TEST(ChatEffort, EverythingElseIsAnErrorInChatModeToo) {
  for (const char* value :
       {"0", "101", "-1", "true", "false", "75.0", "7.5e1", "\"xhigh\"", "\"medium\"", "\"minimal\"", "\"none\"",
        "\"\"", "\"75\"", "\"HIGH\"", "[]", "{}", "99999999999999999999", "NaN"}) {
    for (const char* mode : {"chat", "thinking"}) {
      const Json options = parse_or_fail(fmt::format(R"({{"mode": "{}", "reasoning_effort": {}}})", mode, value));
      const auto read = read_chat_options(options);
      ASSERT_FALSE(read.has_value()) << value;
      EXPECT_EQ(read.error().code, Errc::range);
    }
  }
}

TEST(ChatOptionsJson, ModeMustBeGivenAndFlagsBeFlags) {
  for (const char* options :
       {"{}", R"({"mode": null})", R"({"mode": ""})", R"({"mode": "Chat"})", R"({"mode": 1})", "[]",
        R"({"mode": "chat", "drop_thinking": "no"})", R"({"mode": "chat", "add_default_bos_token": 0})",
        R"({"mode": "chat", "context": {}})"}) {
    EXPECT_FALSE(read_chat_options(parse_or_fail(options)).has_value()) << options;
  }
  const Json given = parse_or_fail(R"({"mode": "chat", "drop_thinking": null, "context": null, "other": 1})");
  const auto read = read_chat_options(given);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->drop_thinking && read->bos && read->context.empty());
}

TEST(ChatEncode, NoMessagesGiveTheBeginToken) {
  EXPECT_EQ(prompt_of("[]"), "<｜begin▁of▁sentence｜>");
  EXPECT_EQ(prompt_of("[]", thinking_mode), "<｜begin▁of▁sentence｜>");
  EXPECT_EQ(prompt_of("[]", {.bos = false}), "");
}

// The consequences of the transition table, one by one.

TEST(ChatEncode, HistoryBeforeTheBoundaryIsHeadedByEndThinkOnceItsReasoningIsPruned) {
  const std::string_view history = R"([{"role": "user", "content": "p"},
      {"role": "assistant", "content": "a", "reasoning_content": "r"}, {"role": "user", "content": "q"}])";
  EXPECT_EQ(thinking_prompt_of(history),
            "<｜User｜>p<｜Assistant｜></think>a<｜end▁of▁sentence｜><｜User｜>q<｜Assistant｜><think>");
  EXPECT_EQ(thinking_prompt_of(history, {.drop_thinking = false}),
            "<｜User｜>p<｜Assistant｜><think>r</think>a<｜end▁of▁sentence｜><｜User｜>q<｜Assistant｜><think>");
}

TEST(ChatEncode, AUserTurnBeforeAReminderPrintsTheHeaderFirst) {
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "latest_reminder", "content": "n"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>q<｜Assistant｜></think><｜latest_reminder｜>n");
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "latest_reminder", "content": "n"},
                          {"role": "user", "content": "p"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>q<｜Assistant｜></"
            "think><｜latest_reminder｜>n<｜User｜>p<｜Assistant｜></think>");
}

TEST(ChatEncode, AConversationThatEndsWithAnAssistantTurnGetsNoHeader) {
  EXPECT_TRUE(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])")
                  .ends_with("</think>a<｜end▁of▁sentence｜>"));
  EXPECT_TRUE(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "wo_eos": true}])")
                  .ends_with("</think>a"));
}

TEST(ChatEncode, ALoneLeadingSystemMessageGetsNoHeaderALaterOneDoes) {
  EXPECT_EQ(prompt_of(R"([{"role": "system", "content": "s"}])"), "<｜begin▁of▁sentence｜><｜System｜>s");
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "system", "content": "s"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>q<｜System｜>s<｜Assistant｜></think>");
  EXPECT_EQ(thinking_prompt_of(R"([{"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}])"),
            "s</think>a<｜end▁of▁sentence｜>");
}

TEST(ChatEncode, ATitleTaskGoesOnAnAssistantMessageAndLandsAfterItsEnd) {
  EXPECT_TRUE(prompt_of(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "task": "title"}])")
                  .ends_with("a<｜end▁of▁sentence｜><｜title｜>"));
}

TEST(ChatEncode, AnAssistantTurnAfterATaskTurnHasNoReasoningPart) {
  EXPECT_EQ(thinking_prompt_of(R"([{"role": "user", "content": "q", "task": "domain"},
                {"role": "assistant", "content": "a", "reasoning_content": "r"}])"),
            "<｜User｜>q<｜domain｜>a<｜end▁of▁sentence｜>");
}

TEST(ChatEncode, AnActionTaskComesAfterAHeaderTheOthersAlone) {
  const auto with_task = [](std::string_view task, const ChatOptions& options) {
    return thinking_prompt_of(fmt::format(R"([{{"role": "user", "content": "q", "task": "{}"}}])", task), options);
  };
  EXPECT_EQ(with_task("action", thinking_mode), "<｜User｜>q<｜Assistant｜><think><｜action｜>");
  EXPECT_TRUE(with_task("action", chat_mode).ends_with("q<｜Assistant｜></think><｜action｜>"));
  for (const char* task : {"query", "authority", "domain", "title", "read_url"})
    EXPECT_EQ(with_task(task, thinking_mode), fmt::format("<｜User｜>q<｜{}｜>", task));
}

TEST(ChatEncode, AMiddleSystemMessageCountsAsTheUsersTurn) {
  EXPECT_EQ(thinking_prompt_of(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a",
      "reasoning_content": "r"}, {"role": "system", "content": "m"}, {"role": "assistant", "content": "b", "reasoning_content": "t"}])"),
            "<｜User｜>q<｜Assistant｜></think>a<｜end▁of▁sentence｜><｜System｜>m<｜Assistant｜><think>t</"
            "think>b<｜end▁of▁sentence｜>");
}

TEST(ChatEncode, ToolsAnywhereKeepAllReasoningEmptyOnesDoNot) {
  const auto prompt = [](const char* tools) {
    return thinking_prompt_of(fmt::format(R"([{{"role": "user", "content": "p"}},
      {{"role": "assistant", "content": "a", "reasoning_content": "r"}}, {{"role": "user", "content": "q"}},
      {{"role": "system", "content": "s", "tools": {}}}])",
                                          tools));
  };
  EXPECT_NE(prompt(R"([{"function": {"name": "f"}}])").find("<think>r</think>a"), std::string::npos);
  for (const char* none : {"[]", "null"}) EXPECT_NE(prompt(none).find("</think>a"), std::string::npos);
  for (const char* none : {"[]", "null"}) EXPECT_EQ(prompt(none).find("r</think>"), std::string::npos);
  const Json context = parse_or_fail(R"([{"role": "system", "content": "", "tools": [{"function": {"name": "f"}}]}])");
  EXPECT_TRUE(
      prompt_of(R"([{"role": "user", "content": "p"}, {"role": "assistant", "content": "a", "reasoning_content": "r"},
                            {"role": "user", "content": "q"}])",
                {.context = context.items()})
          .starts_with("<｜User｜>p<｜Assistant｜><think>r</think>a"));
}

TEST(ChatEncode, AContextIsCountedAndNotRenderedAgain) {
  const Json context = parse_or_fail(R"([{"role": "user", "content": "p"}])");
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q"}])", {.context = context.items()}),
            "<｜User｜>q<｜Assistant｜><think>");
  EXPECT_EQ(prompt_of(R"([{"role": "system", "content": "s"}])", {.context = context.items()}),
            "<｜System｜>s<｜Assistant｜><think>");
  EXPECT_EQ(prompt_of("[]", {.context = context.items()}), "");
}

TEST(ChatEncode, ReasoningGoesOnOnRequestAndOnlyWhereNothingFollowsIt) {
  const ChatOptions on{.continue_reasoning = true};
  const auto prompt = [](const char* rest, const ChatOptions& options) {
    return thinking_prompt_of(fmt::format(R"([{{"role": "user", "content": "q"}},
      {{"role": "assistant", "reasoning_content": "r", {}}}])",
                                          rest),
                              options);
  };
  EXPECT_TRUE(prompt(R"("wo_eos": true)", thinking_mode).ends_with("<think>r</think>"));
  EXPECT_TRUE(prompt(R"("wo_eos": true)", on).ends_with("<think>r"));
  EXPECT_TRUE(prompt(R"("wo_eos": true, "content": "")", on).ends_with("<think>r"));
  EXPECT_TRUE(prompt(R"("wo_eos": true, "content": "a")", on).ends_with("<think>r</think>a"));
  EXPECT_TRUE(prompt(R"("wo_eos": false)", on).ends_with("<think>r</think><｜end▁of▁sentence｜>"));
}

TEST(ChatEncode, NullContentIsEmptyForEveryRole) {
  for (const char* role : {"system", "user", "assistant", "tool", "latest_reminder"}) {
    for (const char* content : {"null", "\"\"", "[]"}) {
      const std::string with = fmt::format(R"([{{"role": "{}", "content": {}}}])", role, content),
                        without = fmt::format(R"([{{"role": "{}"}}])", role);
      EXPECT_EQ(prompt_of(with), prompt_of(without)) << role << content;
      EXPECT_EQ(prompt_of(with).find("None"), std::string::npos);
    }
  }
}

TEST(ChatEncode, ErrorsNameTheMessageAtFault) {
  const std::string_view good = R"({"role": "user", "content": "q"}, {"role": "user", "content": "p"}, )";
  for (const char* bad :
       {R"({"role": "developer", "content": ""})",
        R"({"content": ""})",
        R"({"role": 5})",
        "5",
        R"({"role": "user", "content": 5})",
        R"({"role": "user", "content": {}})",
        R"({"role": "user", "content_blocks": "x"})",
        R"({"role": "user", "content": ["x"]})",
        R"({"role": "user", "content": [{"type": "text", "text": 5}]})",
        R"({"role": "tool", "tool_call_id": 5})",
        R"({"role": "system", "tools": 5})",
        R"({"role": "system", "tools": [5]})",
        R"({"role": "assistant", "tool_calls": 5})",
        R"({"role": "assistant", "tool_calls": [{}]})",
        R"({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})",
        R"({"role": "assistant", "tool_calls": [{"id": 5, "function": {"name": "f", "arguments": {}}}]})",
        R"({"role": "assistant", "wo_eos": 1})",
        R"({"role": "assistant", "reasoning_content": 5})",
        R"({"role": "assistant", "task": "summarize"})",
        R"({"role": "assistant", "task": ""})",
        R"({"role": "assistant", "task": 5})"}) {
    const ChatError error = error_of(fmt::format("[{}{}]", good, bad), thinking_mode);
    EXPECT_EQ(error.index, 2u) << bad << error.message;
    EXPECT_FALSE(error.in_context);
    EXPECT_TRUE(error.message.starts_with("messages[2]: ")) << error.message;
    EXPECT_EQ(error.as_error().code, Errc::format);
  }
}

TEST(ChatEncode, ErrorsInTheContextSaySo) {
  const Json context = parse_or_fail(R"([{"role": "user", "content": "q"}, {"role": "developer"}])");
  const ChatError error = error_of(R"([{"role": "user", "content": "q"}])", {.context = context.items()});
  EXPECT_EQ(error.index, 1u);
  EXPECT_TRUE(error.in_context);
  EXPECT_TRUE(error.message.starts_with("context[1]: role is \"developer\"")) << error.message;
}

TEST(ChatEncode, ARoleThatPruningWouldDropIsAnErrorAllTheSame) {
  EXPECT_EQ(
      error_of(R"([{"role": "developer", "content": "d"}, {"role": "user", "content": "q"}])", thinking_mode).index,
      0u);
}

TEST(ChatEncode, ATaskThatIsNotPrintedIsNotLookedAt) {
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "q", "task": "nonsense"}, {"role": "user", "content": "p"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>q<｜User｜>p<｜Assistant｜></think>");
}

TEST(ChatEncodeDeathTest, AnEffortOutOfRangeIsOurFault) {
  EXPECT_DEATH((void)encode_chat({}, {.effort = 0}), "1 to 100");
}

}  // namespace
}  // namespace cachalot::encode_test
