// SPDX-License-Identifier: Apache-2.0
// What compatibility decomposition, removal of marks and lowercasing make of single characters (spec: engram.md 1), for
// all of Unicode 16. Marks, which fold to nothing, and Hangul syllables go by rule and are not listed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cachalot {

// Characters first, first + step, … (count of them), each of which becomes the one at `distance` from it. No run
// reaches over the beginning of another.
struct FoldRun {
  char32_t first;
  std::uint16_t count, step;
  std::int32_t distance;
};

// One that becomes several, or none.
struct FoldText {
  char32_t from;
  std::uint16_t at, size;  // in FoldTable::letters
};

struct FoldTable {
  std::span<const FoldRun> runs;    // ascending by `first`
  std::span<const FoldText> texts;  // ascending by `from`
  std::u32string_view letters;
};

FoldTable fold_table();

}  // namespace cachalot
