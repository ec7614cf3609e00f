// SPDX-License-Identifier: Apache-2.0
// Tools and calls of tools in prompts (spec: chat-format.md 7).
#include "tokenizer/chat/json_fields.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/chat/render_turn.h"
#include "tokenizer/chat/tool_name.h"

namespace cachalot {
namespace {

constexpr std::string_view tools_text_before =
    R"(## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<｜DSML｜ calls>" block like the following:

<｜DSML｜ calls>
<｜DSML｜ invoke name="$TOOL_NAME">
<｜DSML｜ parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜ parameter>
...
</｜DSML｜ invoke>
<｜DSML｜ invoke name="$TOOL_NAME2">
...
</｜DSML｜ invoke>
</｜DSML｜ calls>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

)";
constexpr std::string_view tools_text_after =
    "\n\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n";

// The function object with its printed name, and the namespace's description before its own.
Expected<Json> schema_of(const Json& tool) {
  const auto name = read_tool_name(tool);
  if (!name) return tl::unexpected(name.error());
  const Json& function = *find_value(tool, "function");
  std::vector<Json::Member> members;
  for (const Json::Member& member : function.members()) {
    if (member.key != "namespace") members.push_back(member);
  }
  Json schema = Json::object(std::move(members));
  schema.set("name", name->printed());
  if (!name->description.empty()) {
    const auto own = read_string_or_empty(function, "description");
    if (!own) return tl::unexpected(own.error());
    schema.set("description", name->description + "\n" + std::string(*own));
  }
  return schema;
}

void render_parameter(std::string_view key, const Json& value, PromptText& out) {
  const std::string* text = value.as_string();
  out.trusted("<｜DSML｜ parameter name=\"").text(key);
  out.trusted(text ? "\" string=\"true\">" : "\" string=\"false\">");
  out.text(text ? *text : json_text(value)).trusted("</｜DSML｜ parameter>");
}

// An object, or text of one, or text of text of one. Nothing else counts.
std::optional<Json> arguments_object(const Json& arguments) {
  Json value = arguments;
  for (int texts = 0; texts < 2 && value.is_string(); ++texts) {
    auto parsed = parse_json(*value.as_string(), "arguments", chat_json_rules);
    if (!parsed) return std::nullopt;
    value = std::move(*parsed);
  }
  return value.is_object() ? std::optional(std::move(value)) : std::nullopt;
}

Status render_call(const Json& call, PromptText& out) {
  const auto name = read_tool_name(call);
  if (!name) return tl::unexpected(name.error());
  const Json* arguments = find_value(call, "function")->find("arguments");
  if (!arguments) return fail(Errc::format, "its function has no arguments");
  out.trusted("<｜DSML｜ invoke name=\"").text(name->printed()).trusted("\">\n");
  if (const auto object = arguments_object(*arguments)) {
    bool first = true;
    for (const Json::Member& member : object->members()) {
      if (!first) out.trusted("\n");
      first = false;
      render_parameter(member.key, member.value, out);
    }
  } else {
    render_parameter("arguments", *arguments, out);
  }
  out.trusted("\n</｜DSML｜ invoke>");
  return {};
}

}  // namespace

Status render_tools(const Json& tools, PromptText& out) {
  out.trusted(tools_text_before);
  std::size_t i = 0;
  for (const Json& tool : tools.items()) {
    const auto schema = schema_of(tool);
    if (!schema) return fail(Errc::format, "tools[{}]: {}", i, schema.error().message);
    if (i++ > 0) out.trusted("\n");
    out.text(json_text(*schema));
  }
  out.trusted(tools_text_after);
  return {};
}

Status render_calls(const Json& calls, PromptText& out) {
  out.trusted("\n\n<｜DSML｜ calls>\n");
  std::size_t i = 0;
  for (const Json& call : calls.items()) {
    if (i > 0) out.trusted("\n");
    if (auto s = render_call(call, out); !s) return fail(Errc::format, "tool_calls[{}]: {}", i, s.error().message);
    ++i;
  }
  out.trusted("\n</｜DSML｜ calls>");
  return {};
}

}  // namespace cachalot
