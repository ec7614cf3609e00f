// SPDX-License-Identifier: Apache-2.0
// What the model wrote as its turn, taken apart, and the strict reader of it (spec: chat-format.md 10).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/json.h"
#include "tokenizer/chat/encode.h"

namespace cachalot {

struct ToolCall {
  std::string id{};     // completions have none; whoever answers an API gives one
  std::string space{};  // the namespace; empty for none
  std::string name{};
  std::string arguments{};  // text of a JSON object, `{"key": value}`
  bool operator==(const ToolCall&) const = default;
};

struct AssistantMessage {
  std::string reasoning{};
  std::string content{};
  std::vector<ToolCall> calls{};
  bool operator==(const AssistantMessage&) const = default;
};

// {role, content, reasoning_content, tool_calls}, as an API shows it and encode_chat takes it back. A call is
// {id?, type, function: {name, arguments}, namespace?}.
Json message_json(const AssistantMessage& message);

// Accepts exactly the well-formed completions, and is what CompletionStream is compared with. `text` is all the model
// made after the header, EOS included. A value with string="false" is taken as it is, valid JSON or not. Error
// (Errc::format), with the byte where reading ended.
Expected<AssistantMessage> parse_strict(std::string_view text, ChatMode mode);

}  // namespace cachalot
