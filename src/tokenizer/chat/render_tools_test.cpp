// SPDX-License-Identifier: Apache-2.0
// Tools, calls and response formats, seen through the prompt.
#include "tokenizer/chat/conversations.h"
#include "tokenizer/chat/render_turn.h"

namespace cachalot::render_tools_test {
namespace {

// The JSON line of one tool.
std::string schema(std::string_view tool) {
  const std::string prompt = prompt_of(fmt::format(R"([{{"role": "system", "tools": [{}]}}])", tool)),
                    before = "### Available Tool Schemas\n\n";
  const std::size_t at = prompt.find(before);
  if (at == std::string::npos) return prompt;
  return prompt.substr(at + before.size(), prompt.find("\n\nYou MUST strictly follow") - at - before.size());
}

// The parameters of one call.
std::string parameters(std::string_view arguments) {
  const std::string
      prompt = prompt_of(fmt::format(
          R"([{{"role": "assistant", "tool_calls": [{{"function": {{"name": "f", "arguments": {}}}}}]}}])", arguments)),
      before = "invoke name=\"f\">\n";
  const std::size_t at = prompt.find(before);
  if (at == std::string::npos) return prompt;
  return prompt.substr(at + before.size(), prompt.find("\n</｜DSML｜ invoke>") - at - before.size());
}

std::string json_parameter(std::string_view key, std::string_view value) {
  return fmt::format("<｜DSML｜ parameter name=\"{}\" string=\"false\">{}</｜DSML｜ parameter>", key, value);
}
std::string string_parameter(std::string_view key, std::string_view value) {
  return fmt::format("<｜DSML｜ parameter name=\"{}\" string=\"true\">{}</｜DSML｜ parameter>", key, value);
}

TEST(ChatTools, ASchemaIsTheFunctionObjectWithItsOrderAndAllItHolds) {
  EXPECT_EQ(schema(R"({"type": "function", "function": {"strict":true,"name":"f","x":[1.0,{}]}, "other": 1})"),
            R"({"strict": true, "name": "f", "x": [1.0, {}]})");
}

TEST(ChatTools, ANamespaceGoesIntoTheNameAndItsDescriptionBeforeTheToolsOwn) {
  EXPECT_EQ(schema(R"({"function": {"namespace": "s", "name": "f"}})"), R"({"name": "s::f"})");
  EXPECT_EQ(
      schema(R"({"function": {"description": "own", "name": "f"}, "namespace": {"name": "s", "description": "all"}})"),
      R"({"description": "all\nown", "name": "s::f"})");
  EXPECT_EQ(schema(R"({"function": {"name": "s::f", "x": 1}, "namespace": {"name": "s", "description": "all"}})"),
            R"({"name": "s::f", "x": 1, "description": "all\n"})");
  EXPECT_EQ(
      schema(R"({"function": {"name": "f", "description": null}, "namespace": {"name": "s", "description": ""}})"),
      R"({"name": "s::f", "description": null})");
  EXPECT_EQ(
      schema(R"({"function": {"name": "f", "description": null}, "namespace": {"name": "s", "description": "d"}})"),
      R"({"name": "s::f", "description": "d\n"})");
  EXPECT_TRUE(schema(R"({"function": {"name": "f", "description": 5}, "namespace": {"name": "s", "description": "d"}})")
                  .starts_with("error: messages[0]: tools[0]: description is 5"));
}

TEST(ChatCalls, ArgumentsAreAnObjectOrTextOfOneOrTextOfThat) {
  const std::string wanted = string_parameter("s", "v\n\"") + "\n" + json_parameter("n", "[1.0, 2]");
  EXPECT_EQ(parameters(R"({"s": "v\n\"", "n": [1.0, 2]})"), wanted);
  EXPECT_EQ(parameters(R"(" {\"s\": \"v\\n\\\"\", \"n\":[1.0,2]} ")"), wanted);
  EXPECT_EQ(parameters(Json(Json(R"({"s":"v\n\"","n":[1.0,2]})").dump()).dump()), wanted);
  EXPECT_EQ(parameters("{}"), "");
  EXPECT_EQ(parameters("\"{}\""), "");
  EXPECT_EQ(parameters(R"("{\"a\": NaN, \"b\": [-Infinity]}")"),
            json_parameter("a", "NaN") + "\n" + json_parameter("b", "[-Infinity]"));
  EXPECT_EQ(parameters(R"("{\"a\": 1, \"b\": 2, \"a\": 3}")"),
            json_parameter("a", "3") + "\n" + json_parameter("b", "2"));
  EXPECT_EQ(parameters(R"("{\"a\": \"\\ud800\"}")"), string_parameter("a", "\uFFFD"));
}

TEST(ChatCalls, WhatIsNoObjectBecomesOneParameterWithTheOriginalValue) {
  for (const char* text : {"", " ", "not json", "[1, 2]", "3", "null", "\"text\"", "{\"broken\": ", "{} {}"})
    EXPECT_EQ(parameters(Json(text).dump()), string_parameter("arguments", text));
  const std::string thrice = Json(Json("{}").dump()).dump();
  EXPECT_EQ(parameters(Json(thrice).dump()), string_parameter("arguments", thrice));
  for (const char* value : {"null", "true", "5", "1.0", "[1, \"x\"]"})
    EXPECT_EQ(parameters(value), json_parameter("arguments", value));
}

TEST(ChatResponseFormat, EmptyValuesMeanNone) {
  const auto prompt = [](const char* format) {
    return prompt_of(fmt::format(R"([{{"role": "system", "content": "s", "response_format": {}}}])", format));
  };
  for (const char* none : {"null", "{}", "[]", "\"\"", "false", "0", "0.0", "0e1"})
    EXPECT_EQ(prompt(none), "<｜begin▁of▁sentence｜><｜System｜>s") << none;
  for (const char* given : {"{\"a\": 1}", "[0]", "\"x\"", "true", "1", "10", "1e+16"}) {
    EXPECT_EQ(prompt(given),
              fmt::format("<｜begin▁of▁sentence｜><｜System｜>s\n\n## Response Format:\n\nYou MUST strictly adhere "
                          "to the following schema to reply:\n{}",
                          given));
  }
}

}  // namespace
}  // namespace cachalot::render_tools_test
