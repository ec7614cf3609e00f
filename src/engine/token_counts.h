// SPDX-License-Identifier: Apache-2.0
// Which tokens stand before the next one, and how often: what the penalties ask. The order of entries and their numbers
// follow from the tokens alone, so taking tokens back and adding others is the same as counting anew.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace cachalot {

class TokenCounts {
 public:
  struct Entry {
    TokenId id;
    std::int64_t made;  // times in the output; 0: it stands in the prompt only
    bool in_prompt;
  };

  // One for each token that occurs, by first occurrence.
  std::span<const Entry> entries() const { return entries_; }

  void clear();
  void add_prompt(TokenId token);  // before the first push()
  void push(TokenId token);
  void pop(TokenId token);  // the newest that was pushed

 private:
  Entry& entry(TokenId token);

  std::vector<Entry> entries_;
  std::vector<std::int32_t> place_;  // by id: index into entries_, or -1; as long as the largest id wants
};

}  // namespace cachalot
