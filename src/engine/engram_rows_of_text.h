// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "checkpoint/config.h"
#include "tokenizer/token_classes.h"

namespace cachalot {

// The rows of the Engram tables that a text reads: of each Engram layer, in the config's order; ascending, each once.
// Source: engram.md 5. Errors: Errc::format where the classes are not the config's, Errc::usage for a token outside
// the vocabulary.
Expected<std::vector<std::vector<std::int64_t>>> engram_rows_of_text(const Config& config, const TokenClasses& classes,
                                                                     std::span<const TokenId> text);

}  // namespace cachalot
