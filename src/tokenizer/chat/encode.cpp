// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/encode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_fields.h"
#include "tokenizer/chat/render_turn.h"
#include "tokenizer/chat/turns.h"

namespace cachalot {
namespace {

std::ptrdiff_t boundary_of(std::span<const Turn> turns) {
  for (std::ptrdiff_t i = std::ssize(turns) - 1; i >= 0; --i) {
    const ChatRole role = turns[static_cast<std::size_t>(i)].role;
    if (role == ChatRole::user || (role == ChatRole::system && i > 0)) return i;
  }
  return -1;
}

bool any_tools(std::span<const Json> messages) {
  return std::ranges::any_of(messages, [](const Json& message) {
    const Json* tools = find_value(message, "tools");
    return tools && !is_empty_value(*tools);
  });
}

Expected<ChatMode> read_mode(const Json& options) {
  const Json* mode = options.find("mode");
  if (!mode) return fail(Errc::format, "mode is missing, expected \"chat\" or \"thinking\"");
  const std::string* name = mode->as_string();
  if (name && *name == "chat") return ChatMode::chat;
  if (name && *name == "thinking") return ChatMode::thinking;
  return fail(Errc::format, "mode is {}, expected \"chat\" or \"thinking\"", described(*mode));
}

}  // namespace

EncodedChat encode_chat(std::span<const Json> messages, const ChatOptions& options) {
  check(options.effort >= 1 && options.effort <= 100, "an effort is from 1 to 100");
  // A context takes no part in the folding of the messages, but its calls order their results. Reasoning that is pruned
  // (chat-format.md 6) needs no step of its own: what render_turn leaves out is just that, and no message disappears.
  CallRanks ranks;
  auto turns = make_turns(options.context, true, options.check_string_results, ranks);
  if (!turns) return tl::unexpected(turns.error());
  auto own = make_turns(messages, false, options.check_string_results, ranks);
  if (!own) return tl::unexpected(own.error());
  const std::size_t first = turns->size();
  std::ranges::move(*own, std::back_inserter(*turns));

  const bool drop = options.drop_thinking && !any_tools(options.context) && !any_tools(messages);
  const Conversation conversation{*turns, &options, drop, boundary_of(*turns)};
  PromptText prompt;
  if (options.bos && options.context.empty()) prompt.trusted(bos_token);
  for (std::size_t i = first; i < turns->size(); ++i) {
    if (auto s = render_turn(conversation, i, prompt); !s)
      return tl::unexpected(chat_error((*turns)[i].index, false, s.error().message));
  }
  return prompt;
}

Expected<int> read_effort(const Json* value) {
  if (!value || value->is_null()) return ChatOptions::default_effort;
  if (const std::string* name = value->as_string()) {
    if (*name == "low") return 50;
    if (*name == "high") return 75;
    if (*name == "max") return 100;
  }
  const auto number = value->as_int64();
  if (number && *number >= 1 && *number <= 100) return static_cast<int>(*number);
  return fail(Errc::range,
              "reasoning_effort is {}, expected \"low\", \"high\", \"max\" or a whole number from 1 to 100",
              described(*value));
}

Expected<ChatOptions> read_chat_options(const Json& options) {
  ChatOptions read;
  const auto mode = read_mode(options);
  if (!mode) return tl::unexpected(mode.error());
  read.mode = *mode;
  const auto effort = read_effort(options.find("reasoning_effort"));
  if (!effort) return tl::unexpected(effort.error());
  read.effort = *effort;
  for (const auto& [key, target] :
       {std::pair("drop_thinking", &read.drop_thinking), {"add_default_bos_token", &read.bos}}) {
    const auto flag = read_flag(options, key, true);
    if (!flag) return tl::unexpected(flag.error());
    *target = *flag;
  }
  if (const Json* context = find_value(options, "context")) {
    if (!context->is_array()) return fail(Errc::format, "context is {}, expected a list", described(*context));
    read.context = context->items();
  }
  return read;
}

}  // namespace cachalot
