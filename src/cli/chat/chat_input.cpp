// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_input.h"

#include <utility>

namespace cachalot {
namespace {

constexpr std::string_view fence = "\"\"\"";

}  // namespace

std::optional<std::string> ChatInput::push(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (state_ == State::none && line.starts_with(fence)) {
    state_ = State::block;
    line.remove_prefix(fence.size());
    if (line.empty()) return {};  // the block begins with the next line
    if (line.starts_with('\n')) line.remove_prefix(1);
  }
  if (state_ == State::block) {
    const bool closed = line.ends_with(fence);
    if (closed) line.remove_suffix(fence.size());
    text_ += line;
    if (!closed) {
      text_ += '\n';
      return {};
    }
    const bool own_line = line.empty() || line.ends_with('\n');
    if (own_line && text_.ends_with('\n')) text_.pop_back();  // the closing fence had a line of its own
    return finish();
  }
  if (line.ends_with('\\')) {
    line.remove_suffix(1);
    text_ += line;
    text_ += '\n';
    state_ = State::continued;
    return {};
  }
  text_ += line;
  state_ = State::continued;
  return finish();
}

std::optional<std::string> ChatInput::finish() {
  if (state_ == State::none) return {};
  std::string text = std::exchange(text_, {});
  state_ = State::none;
  return text;
}

}  // namespace cachalot
