// SPDX-License-Identifier: Apache-2.0
// The character classes that the pre-tokenizer's patterns name (spec: tokenizer.md 2.2). Unicode 16, checked against
// the reference library on every code point. No code point is in two of them.
#pragma once

#include <cstdint>
#include <span>

namespace cachalot {

enum class CharClass : std::uint8_t {
  other,        // control, format and unassigned code points
  letter,       // \p{L}
  mark,         // \p{M}
  number,       // \p{N}
  punctuation,  // \p{P}
  symbol,       // \p{S}
  space,        // \s, which is White_Space
};

// Any value is allowed; what is no code point is `other`.
CharClass char_class(char32_t code);

struct CharRange {
  char32_t first, last;  // both inside
  CharClass kind;
};

// Ascending, apart from each other. What lies between is `other`.
std::span<const CharRange> char_ranges();

}  // namespace cachalot
