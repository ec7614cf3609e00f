// SPDX-License-Identifier: Apache-2.0
// is_json: a scan with one bit per open array or object, so that no depth can exhaust the stack.
#include <vector>

#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool is_one_value() {
    std::vector<bool> open_objects;  // one per open bracket: whether it is an object's
    skip_space();
    while (true) {
      if (take('{')) {
        skip_space();
        if (!take('}')) {
          open_objects.push_back(true);
          if (!key()) return false;
          continue;
        }
      } else if (take('[')) {
        skip_space();
        if (!take(']')) {
          open_objects.push_back(false);
          continue;
        }
      } else if (!scalar()) {
        return false;
      }
      // A value is complete: close what ends here, then a comma must follow, or the end of the text.
      skip_space();
      while (!open_objects.empty() && take(open_objects.back() ? '}' : ']')) {
        open_objects.pop_back();
        skip_space();
      }
      if (open_objects.empty()) return at_ == text_.size();
      if (!take(',')) return false;
      skip_space();
      if (open_objects.back() && !key()) return false;
    }
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (take(' ') || take('\t') || take('\n') || take('\r')) {
    }
  }
  bool digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > first;
  }

  bool key() {
    if (!string()) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

  bool scalar() {
    if (peek() == '"') return string();
    return take("true") || take("false") || take("null") || number();
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_++]);
      if (c == '"') return true;
      if (c < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool escape() {
    constexpr std::string_view names = "\"\\/bfnrt", hex = "0123456789abcdefABCDEF";
    if (at_ == text_.size()) return false;
    const char name = text_[at_++];
    if (name != 'u') return names.find(name) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      if (at_ == text_.size() || hex.find(text_[at_++]) == std::string_view::npos) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_json(std::string_view text) { return Scanner(text).is_one_value(); }

}  // namespace cachalot
