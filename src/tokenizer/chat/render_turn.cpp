// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/render_turn.h"

#include <algorithm>

#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_fields.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

constexpr std::string_view response_text =
    "## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n";

// A list that is not empty; a null pointer for none.
Expected<const Json*> read_list(const Turn& turn, std::string_view key) {
  const Json* list = turn.field(key);
  if (!list || is_empty_value(*list)) return nullptr;
  if (!list->is_array()) return fail(Errc::format, "{} is {}, expected a list", key, described(*list));
  return list;
}

Status render_system(const Turn& turn, PromptText& out) {
  out.append(turn.content);
  const auto tools = read_list(turn, "tools");
  if (!tools) return tl::unexpected(tools.error());
  if (*tools) {
    out.trusted("\n\n");
    if (auto s = render_tools(**tools, out); !s) return s;
  }
  const Json* format = turn.field("response_format");
  if (format && !is_empty_value(*format)) out.trusted("\n\n").trusted(response_text).text(json_text(*format));
  return {};
}

Status render_assistant(const Conversation& conversation, std::size_t i, PromptText& out) {
  const Turn& turn = conversation.turns[i];
  const auto reasoning = read_string_or_empty(*turn.source, "reasoning_content");
  if (!reasoning) return tl::unexpected(reasoning.error());
  const auto calls = read_list(turn, "tool_calls");
  if (!calls) return tl::unexpected(calls.error());
  const auto open = read_flag(*turn.source, "wo_eos", false);
  if (!open) return tl::unexpected(open.error());

  const bool after_task = i > 0 && conversation.turns[i - 1].field("task");
  const bool kept = !conversation.drop || static_cast<std::ptrdiff_t>(i) > conversation.boundary;
  if (conversation.thinking() && !after_task && kept) {
    out.text(*reasoning);
    const bool thought_goes_on = conversation.options->continue_reasoning && *open && turn.content.empty() && !*calls;
    if (!thought_goes_on) out.trusted(end_think_token);
  }
  out.append(turn.content);
  if (*calls) {
    if (auto s = render_calls(**calls, out); !s) return s;
  }
  if (!*open) out.trusted(eos_token);
  return {};
}

Status render_body(const Conversation& conversation, std::size_t i, PromptText& out) {
  const Turn& turn = conversation.turns[i];
  switch (turn.role) {
    case ChatRole::system:
      if (i > 0) out.trusted(system_token);
      return render_system(turn, out);
    case ChatRole::assistant:
      return render_assistant(conversation, i, out);
    case ChatRole::latest_reminder:
      out.trusted(reminder_token).append(turn.content);
      return {};
    case ChatRole::user:
    case ChatRole::tool:  // those have become user turns
      out.trusted(user_token).append(join_blocks(turn.blocks));
      return {};
  }
  return {};
}

Status render_task(const Conversation& conversation, const Json& task, PromptText& out) {
  const std::string* name = task.as_string();
  const auto found = name ? std::ranges::find(task_tokens, *name, &TaskToken::task) : task_tokens.end();
  if (found == task_tokens.end()) {
    return fail(Errc::format, "task is {}, expected action, query, authority, domain, title or read_url",
                described(task));
  }
  if (found->task == action_task)
    out.trusted(assistant_token).trusted(conversation.thinking() ? think_token : end_think_token);
  out.trusted(found->token);
  return {};
}

// What opens the answer to turn i, or the task it is for.
Status render_transition(const Conversation& conversation, std::size_t i, PromptText& out) {
  const Turn& turn = conversation.turns[i];
  if (i + 1 < conversation.turns.size()) {
    const ChatRole next = conversation.turns[i + 1].role;
    if (next != ChatRole::assistant && next != ChatRole::latest_reminder) return {};
  }
  if (const Json* task = turn.field("task")) return render_task(conversation, *task, out);
  const bool asks = turn.role == ChatRole::user || (turn.role == ChatRole::system && i > 0);
  if (!asks) return {};
  const bool thinks =
      conversation.thinking() && (!conversation.drop || static_cast<std::ptrdiff_t>(i) >= conversation.boundary);
  out.trusted(assistant_token).trusted(thinks ? think_token : end_think_token);
  return {};
}

}  // namespace

Status render_turn(const Conversation& conversation, std::size_t i, PromptText& out) {
  if (i == 0) {
    if (conversation.thinking() || conversation.turns[0].role == ChatRole::system) out.trusted(system_token);
    if (conversation.thinking()) {
      out.trusted(
          fmt::format("Reasoning Effort: {} (range 1-100, the higher the value, the more thorough the reasoning)\n\n",
                      conversation.options->effort));
    }
  }
  if (auto s = render_body(conversation, i, out); !s) return s;
  return render_transition(conversation, i, out);
}

}  // namespace cachalot
