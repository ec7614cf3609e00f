// SPDX-License-Identifier: Apache-2.0
// Messages to turns: tool and user messages fold into user turns, tool results go into the order of their calls
// (spec: chat-format.md 2, 4 and 5).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/chat/blocks.h"
#include "tokenizer/chat/encode.h"

namespace cachalot {

enum class ChatRole { system, user, assistant, tool, latest_reminder };

// A message, or several of them as one user turn. Other fields than content are read from `source` when they are
// needed.
struct Turn {
  ChatRole role = ChatRole::user;
  const Json* source = nullptr;  // the first message; null where that was a tool message, whose fields are used up
  std::size_t index = 0;         // of that message
  PromptText content{};
  std::vector<Block> blocks{};  // of a user turn

  // A field of the message; a null pointer where there is none.
  const Json* field(std::string_view key) const;
};

// Which place each call id has in the latest assistant message with tool calls.
using CallRanks = std::map<std::string, std::size_t, std::less<>>;

// Turns of one list of messages, tool results ordered. `ranks` are those of the messages before, and then of these.
tl::expected<std::vector<Turn>, ChatError> make_turns(std::span<const Json> messages, bool in_context,
                                                      bool check_string_results, CallRanks& ranks);

// The message about message `index`, with its place before it.
ChatError chat_error(std::size_t index, bool in_context, std::string_view problem);

}  // namespace cachalot
