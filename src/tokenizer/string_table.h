// SPDX-License-Identifier: Apache-2.0
// Many short strings in one block of memory. Views into a full table survive its being moved.
#pragma once

#include <string_view>
#include <vector>

namespace cachalot {

class StringTable {
 public:
  std::size_t size() const { return ends_.size(); }

  void push_back(std::string_view text) {  // ends the life of views given out before
    text_.insert(text_.end(), text.begin(), text.end());
    ends_.push_back(text_.size());
  }

  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {text_.data() + begin, ends_[i] - begin};
  }

 private:
  std::vector<char> text_;  // not std::string: a short one keeps its text inside itself
  std::vector<std::size_t> ends_;
};

}  // namespace cachalot
