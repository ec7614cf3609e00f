// SPDX-License-Identifier: Apache-2.0
// Finds stop strings in a text that comes in pieces, wherever the borders between the pieces lie.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace cachalot {

// The text ends before the stop string that is complete first; of those complete at the same byte, before the one that
// begins first, which is the longest. This rule needs no look ahead: a text never waits for a string that would begin
// earlier and may never end. A text that may still become a stop string is held back; everything before it is given at
// once. A byte costs one look at each string, whatever was seen before (Knuth, Morris, Pratt 1977).
class StopStrings {
 public:
  explicit StopStrings(std::span<const std::string> strings = {});  // have passed check_stop_strings

  // The text that is certain by now, of what came before and `piece`. After a stop string was found there is none.
  // With may_stop false a string that is complete in this piece does not count, and is text like any other.
  std::string push(std::string_view piece, bool may_stop = true);

  // What is still held back, when no more text will come.
  std::string finish();

  std::optional<std::size_t> found() const { return found_; }  // number of the string

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> border;  // [n]: of its first n bytes, how many of the first are the last ones as well
    std::size_t matched = 0;          // bytes of it that the text ends with
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  std::optional<std::size_t> found_;
};

// Errc::usage where one is empty, or not UTF-8 and so can't be in a text.
Status check_stop_strings(std::span<const std::string> strings);

}  // namespace cachalot
