// SPDX-License-Identifier: Apache-2.0
// Ids that no answer may hold. Source: tokenizer.md 1.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/config.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

// Of the ids of a row of logits, ascending: the config's begin-of-sentence and padding tokens (one that also ends a
// text may come), placeholders and multimodal spans, the tokens that stand for a picture in a prompt, and rows of the
// head that the tokenizer has no token for. Added tokens are known by their content, so that a tokenizer with other ids
// is served as well; a text that merely spells one is not meant.
std::vector<TokenId> reserved_tokens(const Tokenizer& tokenizer, const Config& config);

}  // namespace cachalot
