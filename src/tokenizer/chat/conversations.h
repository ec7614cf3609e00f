// SPDX-License-Identifier: Apache-2.0
// For tests: conversations written as JSON, and their prompts.
#pragma once

#include "tokenizer/chat/chat_goldens.h"

namespace cachalot {

inline constexpr ChatOptions chat_mode{.mode = ChatMode::chat};
inline constexpr ChatOptions thinking_mode{.mode = ChatMode::thinking};

// The prompt of a JSON list of messages, or "error: ...".
inline std::string prompt_of(std::string_view messages, const ChatOptions& options = chat_mode) {
  const Json list = parse_or_fail(messages);
  const auto prompt = encode_chat(list.items(), options);
  return prompt ? prompt->joined() : "error: " + prompt.error().message;
}

// In thinking mode, what follows the effort line.
inline std::string thinking_prompt_of(std::string_view messages, ChatOptions options = thinking_mode) {
  const std::string prompt = prompt_of(messages, options), line_end = "thorough the reasoning)\n\n";
  const std::size_t at = prompt.find(line_end);
  return at == std::string::npos ? prompt : prompt.substr(at + line_end.size());
}

inline ChatError error_of(std::string_view messages, const ChatOptions& options = chat_mode) {
  const Json list = parse_or_fail(messages);
  const auto prompt = encode_chat(list.items(), options);
  EXPECT_FALSE(prompt.has_value()) << messages;
  return prompt ? ChatError{"none", {}} : prompt.error();
}

}  // namespace cachalot
