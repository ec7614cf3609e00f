// SPDX-License-Identifier: Apache-2.0
// Which tokens Engram takes for the same word (spec: engram.md 1): equal after compatibility decomposition, without
// marks, in lower case, white space trimmed.
#pragma once

#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace cachalot {

struct TokenClasses {
  std::vector<std::int32_t> class_of;  // [vocab_size], by token id
  std::int64_t classes;                // numbered from 0 in order of first appearance
};

// By Unicode 16, for any vocabulary. A loader compares `classes` with the configuration's engram_compressed_vocab_size:
// the multipliers depend on it.
TokenClasses token_classes(const Tokenizer& tokenizer);

}  // namespace cachalot
