// SPDX-License-Identifier: Apache-2.0
// One turn to prompt text (spec: chat-format.md 6 and 7).
#pragma once

#include <span>

#include "tokenizer/chat/encode.h"
#include "tokenizer/chat/turns.h"

namespace cachalot {

// What every turn's text depends on besides itself.
struct Conversation {
  std::span<const Turn> turns;  // context and messages
  const ChatOptions* options;
  bool drop;                // reasoning before the boundary is left out
  std::ptrdiff_t boundary;  // index of the last turn that is the user's, or the system's but not the first; -1 if none

  bool thinking() const { return options->mode == ChatMode::thinking; }
};

// Appends turn i, and the header of what follows it. Errors (Errc::format): an unknown task, fields of the wrong type,
// a bad tool name.
Status render_turn(const Conversation& conversation, std::size_t i, PromptText& out);

// Appends the text about a system turn's tools, from a non-empty list.
Status render_tools(const Json& tools, PromptText& out);
// Appends the block of an assistant turn's calls, from a non-empty list.
Status render_calls(const Json& calls, PromptText& out);

}  // namespace cachalot
