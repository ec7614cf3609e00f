// SPDX-License-Identifier: Apache-2.0
// Prompt text to token ids, and which tokenizers can do that (spec: chat-format.md 1 and 9).
//
// What a tokenizer must have: a chat starts only with one that lists every token of a plain conversation in thinking
// mode (BOS, EOS, System, User, Assistant, think, /think: expect_chat_tokens). The tokens of tool calls, reminders,
// images and tasks are wanted once a prompt contains them (expect_prompt_tokens). Both name all that are missing, in
// one message.
#pragma once

#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "tokenizer/chat/prompt_text.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

// Error (Errc::missing) that names every format token `tokenizer` lacks, if one of them is among those above.
Status expect_chat_tokens(const Tokenizer& tokenizer);

// Error (Errc::missing) that names the tokens which trusted parts of `prompt` contain and `tokenizer` lacks.
Status expect_prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt);

enum class MessageTokens {
  as_written,  // a token that stands in a message is that token, as in the released code: a user can open a turn
  never,       // text of messages is plain text; ids differ only where it holds an added token
};

// Error: Errc::missing as expect_prompt_tokens, or that of Tokenizer::encode.
Expected<std::vector<TokenId>> prompt_ids(const Tokenizer& tokenizer, const PromptText& prompt, MessageTokens tokens);

}  // namespace cachalot
