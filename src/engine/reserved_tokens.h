// SPDX-License-Identifier: Apache-2.0
// Ids that no answer may hold. Source: tokenizer.md 1.
#pragma once

#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace cachalot {

// Of the ids 0 to vocab - 1 of a row of logits, ascending: placeholders and multimodal spans, the tokens that stand for
// a picture in a prompt, and rows of the head that the tokenizer has no token for. Added tokens are known by their
// content, so that a tokenizer with other ids is served as well; a text that merely spells one is not meant.
std::vector<TokenId> reserved_tokens(const Tokenizer& tokenizer, std::int64_t vocab);

}  // namespace cachalot
