// SPDX-License-Identifier: Apache-2.0
// Blocks, images, merging and ordering, seen through the prompt.
#include "tokenizer/chat/turns.h"

#include "tokenizer/chat/conversations.h"
#include "tokenizer/chat/format_text.h"

namespace cachalot::turns_test {
namespace {

// What the only user turn of a conversation in chat mode says.
std::string user_turn(std::string_view messages, const ChatOptions& options = chat_mode) {
  const std::string prompt = prompt_of(messages, options);
  const std::size_t at = prompt.rfind(user_token), end = prompt.rfind(assistant_token);
  if (at == std::string::npos || end == std::string::npos || end < at) return prompt;
  return prompt.substr(at + user_token.size(), end - at - user_token.size());
}
std::string user_content(std::string_view content) {
  return user_turn(fmt::format(R"([{{"role": "user", "content": {}}}])", content));
}
bool is_error(std::string_view prompt) { return prompt.starts_with("error: "); }

TEST(ChatBlocks, TextsAreJoinedByABlankLineAndOthersNamed) {
  EXPECT_EQ(user_content(R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])"), "a\n\nb");
  EXPECT_EQ(user_content(R"([{"type": "text"}, {"type": "text", "text": null}])"), "\n\n");
  EXPECT_EQ(user_content(R"([{"type": "audio"}, {}, {"type": null}, {"type": 5}])"),
            "[Unsupported audio]\n\n[Unsupported None]\n\n[Unsupported None]\n\n[Unsupported 5]");
}

TEST(ChatBlocks, BlocksWinOverAStringInAUserTurnAndTheStringElsewhere) {
  const char* fields =
      R"("content": "string", "content_blocks": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])";
  EXPECT_EQ(user_turn(fmt::format(R"([{{"role": "user", {}}}])", fields)), "a\n\nb");
  EXPECT_EQ(prompt_of(fmt::format(R"([{{"role": "system", {}}}])", fields)),
            "<｜begin▁of▁sentence｜><｜System｜>string");
  EXPECT_EQ(
      prompt_of(
          R"([{"role": "system", "content_blocks": [{"type": "text", "text": "a"}, {"type": "audio"}, {"type": "text", "text": "b"}]}])"),
      "<｜begin▁of▁sentence｜><｜System｜>a\n\nb");
}

TEST(ChatBlocks, ResultsInsideAResultAreNotPrinted) {
  EXPECT_EQ(user_content(R"([{"type": "tool_result", "content": [{"type": "tool_result", "content": "x"},
                             {"type": "text", "text": "y"}, {"type": "audio"}]}])"),
            "<tool_result>[Unsupported tool_result]\n\ny\n\n[Unsupported audio]</tool_result>");
  EXPECT_EQ(user_content(R"([{"type": "tool_result"}, {"type": "tool_result", "content": null}])"),
            "<tool_result></tool_result>\n\n<tool_result></tool_result>");
}

TEST(ChatImages, RecordsComeInPromptOrderOnePerImageToken) {
  const Json messages = parse_or_fail(R"([{"role": "user", "content": [{"type": "image_url", "image_url": "1"}]},
      {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {}}},
                                           {"id": "y", "function": {"name": "f", "arguments": {}}}]},
      {"role": "tool", "tool_call_id": "y", "content": [{"type": "image", "data": "3", "url": ""}]},
      {"role": "tool", "tool_call_id": "x", "content": [{"type": "image", "source": {"kind": "2"}, "data": null}]}])");
  const auto prompt = encode_chat(messages.items(), chat_mode);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(Json::array({prompt->images().begin(), prompt->images().end()}),
            parse_or_fail(R"([{"type": "image", "url": "1"}, {"type": "image", "source": {"kind": "2"}, "data": null},
                              {"type": "image", "url": "", "data": "3"}])"));
  std::size_t tokens = 0;
  for (const Segment& segment : prompt->segments()) {
    if (!segment.trusted) continue;
    for (std::size_t at = segment.text.find(image_token); at != std::string::npos;
         at = segment.text.find(image_token, at + 1))
      ++tokens;
  }
  EXPECT_EQ(tokens, 3u);
}

TEST(ChatImages, ThoseOfTheContextAreNotReturnedAgain) {
  const Json context = parse_or_fail(R"([{"role": "user", "content": [{"type": "image", "url": "1"}]}])"),
             messages = parse_or_fail(R"([{"role": "user", "content": [{"type": "image", "url": "2"}]}])");
  const auto prompt = encode_chat(messages.items(), {.mode = ChatMode::chat, .context = context.items()});
  ASSERT_TRUE(prompt.has_value() && prompt->images().size() == 1);
  EXPECT_EQ(prompt->images()[0].dump(), R"({"type":"image","url":"2"})");
}

TEST(ChatImages, AnImageWithoutASourceIsAnError) {
  for (const char* block :
       {R"({"type": "image_url"})", R"({"type": "image_url", "image_url": null})",
        R"({"type": "image_url", "image_url": ""})", R"({"type": "image_url", "image_url": {}})",
        R"({"type": "image_url", "image_url": {"url": ""}})", R"({"type": "image_url", "image_url": {"url": 5}})",
        R"({"type": "image_url", "image_url": 5})", R"({"type": "image"})",
        R"({"type": "image", "source": {}, "url": "", "data": null})"}) {
    EXPECT_TRUE(is_error(user_content(fmt::format("[{}]", block)))) << block;
    EXPECT_TRUE(is_error(user_content(fmt::format(R"([{{"type": "tool_result", "content": [{}]}}])", block)))) << block;
    EXPECT_TRUE(is_error(user_content(
        fmt::format(R"([{{"type": "tool_result", "content": [{{"type": "tool_result", "content": [{}]}}]}}])", block))))
        << block;
  }
}

TEST(ChatImages, TheImageTokenInTextIsAnErrorForEveryRoleAndPlace) {
  const std::string image(image_token);
  for (const char* role : {"system", "user", "assistant", "tool", "latest_reminder"}) {
    for (const char* field :
         {R"("content": "a{}")", R"("reasoning_content": "a{}")", R"("content": [{{"type": "text", "text": "{}"}}])",
          R"("content": "", "content_blocks": [{{"type": "text", "text": "{}"}}])",
          R"("content_blocks": [{{"type": "tool_result", "content": [{{"type": "text", "text": "{}"}}]}}])"}) {
      const std::string message =
          fmt::format(R"([{{"role": "{}", {}}}])", role, fmt::format(fmt::runtime(field), image));
      EXPECT_TRUE(is_error(prompt_of(message))) << message;
    }
  }
}

TEST(ChatImages, AResultOfOneStringIsLookedAtOnlyOnRequest) {
  const std::string messages =
      fmt::format(R"([{{"role": "user", "content": [{{"type": "tool_result", "content": "{}"}}]}}])", image_token);
  EXPECT_EQ(user_turn(messages), fmt::format("<tool_result>{}</tool_result>", image_token));
  EXPECT_TRUE(is_error(prompt_of(messages, {.mode = ChatMode::chat, .check_string_results = true})));
}

TEST(ChatTurns, UserAndToolMessagesFoldIntoOneUserTurn) {
  EXPECT_EQ(
      user_turn(
          R"([{"role": "user", "content": "a"}, {"role": "tool", "content": "r"}, {"role": "user", "content": null},
                          {"role": "user", "content": "b"}])"),
      "a\n\n<tool_result>r</tool_result>\n\n\n\nb");
  EXPECT_EQ(user_turn(R"([{"role": "tool", "content": "r"}, {"role": "tool", "content": null}])"),
            "<tool_result>r</tool_result>\n\n<tool_result></tool_result>");
}

TEST(ChatTurns, AToolResultJoinsATurnWithATaskAndAUserMessageDoesNot) {
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "a", "task": "query"}, {"role": "tool", "content": "r"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>a\n\n<tool_result>r</tool_result><｜query｜>");
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "a", "task": "query"}, {"role": "user", "content": "b"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>a<｜User｜>b<｜Assistant｜></think>");
}

TEST(ChatTurns, AFoldedMessageLosesItsOwnFields) {
  EXPECT_EQ(prompt_of(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b", "task": "nonsense"}])"),
            "<｜begin▁of▁sentence｜><｜User｜>a\n\nb<｜Assistant｜></think>");
}

TEST(ChatTurns, TheContextIsNotFoldedInto) {
  const Json context = parse_or_fail(R"([{"role": "user", "content": "a"}])");
  EXPECT_EQ(prompt_of(R"([{"role": "tool", "content": "r"}])", {.mode = ChatMode::chat, .context = context.items()}),
            "<｜User｜><tool_result>r</tool_result><｜Assistant｜></think>");
}

// Results named by their call, after calls of the given ids; "" is a call without one.
std::string ordered(std::string_view calls, std::string_view results) {
  std::string messages = R"([{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [)";
  for (const char id : calls) {
    if (messages.back() != '[') messages += ", ";
    messages += fmt::format(R"({{{} "function": {{"name": "f", "arguments": {{}}}}}})",
                            id == '-' ? std::string() : fmt::format(R"("id": "{}",)", id));
  }
  messages += "]}";
  for (const char id : results) {
    messages += id == ' ' ? R"(, {"role": "user", "content": "+"})"
                          : fmt::format(R"(, {{"role": "tool", "tool_call_id": "{}", "content": "{}"}})", id, id);
  }
  std::string order;
  for (const char c : user_turn(messages + "]")) {
    if (std::string_view(results).find(c) != std::string_view::npos || c == '+') order += c;
  }
  // Of `<tool_result>x</tool_result>` only x is kept: ids are upper case.
  return order;
}

TEST(ChatOrder, ResultsComeInTheOrderOfTheirCallsAndTextStays) {
  EXPECT_EQ(ordered("ABC", "CAB"), "ABC");
  EXPECT_EQ(ordered("ABC", "C A"), "A+C");
  EXPECT_EQ(ordered("ABC", "C"), "C");
}

TEST(ChatOrder, UnknownIdsRankWithTheFirstCallAndEqualRanksKeepTheirOrder) {
  EXPECT_EQ(ordered("ABC", "BZA"), "ZAB");
  EXPECT_EQ(ordered("ABC", "CAZ"), "AZC");
  EXPECT_EQ(ordered("---", "BA"), "BA");
  EXPECT_EQ(ordered("-BA", "AB"), "BA");
}

TEST(ChatOrder, TheLatestCallsCountAndAnAnswerWithoutCallsLeavesThem) {
  const auto result = [](const char* second) {
    return user_turn(fmt::format(
        R"([{{"role": "assistant", "tool_calls": [{{"id": "a", "function": {{"name": "f", "arguments": {{}}}}}},
        {{"function": {{"name": "f", "arguments": {{}}, "id": "b"}}}}]}}, {}, {{"role": "tool", "tool_call_id": "b", "content": "B"}},
        {{"role": "tool", "tool_call_id": "a", "content": "A"}}])",
        second));
  };
  const std::string ab = "<tool_result>A</tool_result>\n\n<tool_result>B</tool_result>",
                    ba = "<tool_result>B</tool_result>\n\n<tool_result>A</tool_result>";
  EXPECT_EQ(result(R"({"role": "assistant", "content": "x"})"), ab);
  EXPECT_EQ(result(R"({"role": "assistant", "tool_calls": []})"), ab);
  EXPECT_EQ(result(R"({"role": "assistant", "tool_calls": [{"id": "b", "function": {"name": "f", "arguments": {}}},
                       {"id": "a", "function": {"name": "f", "arguments": {}}}]})"),
            ba);
  EXPECT_EQ(result(R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]})"), ba);
}

}  // namespace
}  // namespace cachalot::turns_test
