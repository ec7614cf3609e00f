// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/char_class.h"

#include <algorithm>
#include <vector>

namespace cachalot {
namespace {

std::vector<CharClass> one_class_per_code() {
  const auto ranges = char_ranges();
  std::vector<CharClass> classes(ranges.back().last + 1, CharClass::other);
  for (const CharRange& range : ranges) {
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, range.kind);
  }
  return classes;
}

}  // namespace

CharClass char_class(char32_t code) {
  // A megabyte, of which a text touches a few pages; a search in the 1,588 ranges costs more than all else in a split.
  static const std::vector<CharClass> classes = one_class_per_code();
  return code < classes.size() ? classes[code] : CharClass::other;
}

}  // namespace cachalot
