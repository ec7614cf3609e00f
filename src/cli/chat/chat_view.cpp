// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_view.h"

#include <fmt/core.h>

#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

constexpr std::string_view dim = "\x1b[2m", dim_off = "\x1b[0m";

}  // namespace

std::string call_text(const ToolCall& call) {
  const std::string name = call.space.empty() ? call.name : call.space + "::" + call.name;
  const auto arguments = parse_json(call.arguments, "arguments", chat_json_rules);
  if (!arguments || !arguments->is_object()) return name + '(' + call.arguments + ')';
  std::string list;
  for (const Json::Member& argument : arguments->members())
    list += fmt::format("{}{}={}", list.empty() ? "" : ", ", argument.key, json_text(argument.value));
  return name + '(' + list + ')';
}

void ChatView::print(std::string_view text) {
  if (text.empty()) return;
  const std::string safe = shown(text);
  at_line_start_ = safe.ends_with('\n');
  empty_ = false;
  // Each piece for itself, so that whatever comes in between is not dim.
  out_(part_ == Part::reasoning && style_.color ? fmt::format("{}{}{}", dim, safe, dim_off) : safe);
}

void ChatView::begin(Part part) {
  if (part_ == part) return;
  if (!at_line_start_) print("\n");
  if (part_ == Part::reasoning && !style_.color) print("</think>\n");
  part_ = part;
  if (part_ == Part::reasoning && !style_.color) print("<think>\n");
}

void ChatView::reasoning(std::string_view text) {
  if (!style_.show_thinking || text.empty()) return;
  begin(Part::reasoning);
  print(text);
}

void ChatView::content(std::string_view text) {
  if (text.empty()) return;
  begin(Part::content);
  print(text);
}

void ChatView::call(const ToolCall& call) {
  begin(Part::content);
  if (!at_line_start_) print("\n");
  print(call_text(call) + '\n');
}

void ChatView::end_answer() {
  begin(Part::none);
  if (empty_) out_("\n");
  at_line_start_ = empty_ = true;
}

}  // namespace cachalot
