// SPDX-License-Identifier: Apache-2.0
// A conversation to prompt text (spec: chat-format.md 2 to 8). Messages are JSON objects as chat-format.md 2 lists
// their fields; other fields are ignored. The same conversation always gives the same prompt; nothing is rendered
// partially.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "base/expected.h"
#include "base/json.h"
#include "tokenizer/chat/prompt_text.h"

namespace cachalot {

enum class ChatMode { chat, thinking };

struct ChatOptions {
  static constexpr int default_effort = 75;

  ChatMode mode = ChatMode::thinking;
  int effort = default_effort;  // 1 to 100; printed in thinking mode only
  bool drop_thinking = true;    // old reasoning is left out, unless there are tools
  bool bos = true;              // add_default_bos_token
  // Messages that the prompt holds already: they are not rendered, but counted and remembered. Must outlive the call.
  std::span<const Json> context{};

  // Ours, not the released format's. A `wo_eos` turn of reasoning alone is left open, so that the thought goes on.
  bool continue_reasoning = false;
  // Refuses the image token in a tool_result block of one string too, where the released encoder does not look.
  bool check_string_results = false;
};

struct ChatError {
  std::string message;               // says where as well: "messages[2]: ..."
  std::optional<std::size_t> index;  // of the message at fault; empty where an option is
  bool in_context = false;           // whether it indexes the context instead

  Error as_error() const { return {Errc::format, message}; }
};

class [[nodiscard]] EncodedChat : public tl::expected<PromptText, ChatError> {
 public:
  using tl::expected<PromptText, ChatError>::expected;
};

// The prompt, and an image record for each image in it. Errors: what chat-format.md 2 to 7 call one, and fields of the
// wrong type. No messages give BOS alone.
EncodedChat encode_chat(std::span<const Json> messages, const ChatOptions& options);

// `reasoning_effort` as the format knows it: absent or null 75, "low" 50, "high" 75, "max" 100, whole numbers 1 to 100.
// Error: Errc::range for anything else. `value` may be null.
Expected<int> read_effort(const Json* value);

// {mode, reasoning_effort?, drop_thinking?, add_default_bos_token?, context?}; context borrows from `options`. Other
// members are ignored. Error: Errc::format or range.
Expected<ChatOptions> read_chat_options(const Json& options);

}  // namespace cachalot
