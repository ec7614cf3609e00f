// SPDX-License-Identifier: Apache-2.0
// What `cachalot render` answers to a JSON line (spec: chat-format.md 12 has the fields). Other members are ignored.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "base/json.h"
#include "tokenizer/chat/encode.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

struct RenderRules {
  bool sanitize = false;  // text of messages never becomes tokens; image tokens in it are refused everywhere
  bool ids = false;       // answer with the token ids as well
};

// {"messages": [...], "options": {...}} gives {"prompt": string}, and "ids": [...] where the rules say so.
// Errors: those of the options, of the messages, and a token that the prompt needs and the tokenizer lacks.
Expected<Json> render_line(const Tokenizer& tokenizer, const RenderRules& rules, std::string_view line);

// The prompt of messages, under the rules. Errors as above.
Expected<PromptText> render_messages(const Tokenizer& tokenizer, const RenderRules& rules,
                                     std::span<const Json> messages, ChatOptions options);
Expected<std::vector<TokenId>> render_ids(const Tokenizer& tokenizer, const RenderRules& rules,
                                          const PromptText& prompt);

// {"mode": "chat" or "thinking", "text": string} gives {"message": {...}}: a whole completion, read strictly.
Expected<Json> parse_line(std::string_view line);

// {"mode": ..., "end": "eos" or "length", "chunks": [string...]} gives {"reasoning", "content", "tool_calls":
// [{"namespace"?, "name", "arguments"}], "finish_reason", "flags"}: a completion as it streams in.
Expected<Json> stream_line(std::string_view line);

}  // namespace cachalot
