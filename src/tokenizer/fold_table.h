// SPDX-License-Identifier: Apache-2.0
// What compatibility decomposition and lowercasing make of single characters (spec: engram.md 1). Lists the characters
// of the released vocabulary that change; marks and Hangul syllables go by rule and are not listed.
#pragma once

#include <span>

namespace cachalot {

struct Fold {
  char32_t from;
  char32_t to[3];  // one to three characters, then zeros
};

std::span<const Fold> fold_table();  // ascending by `from`

}  // namespace cachalot
