// SPDX-License-Identifier: Apache-2.0
// Lines to what the user says: one line, unless it is continued.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cachalot {

// A line that ends with \ goes on in the next one; the backslash stands for the end of the line. A line that begins
// with """ opens a block, which ends with a line that ends with """ (the same one, if there is text between). Several
// lines may come as one, pasted: they are one text. CR LF ends a line as LF does.
class ChatInput {
 public:
  // The whole text once it is complete, else nothing. `line` is without its LF.
  std::optional<std::string> push(std::string_view line);

  bool pending() const { return state_ != State::none; }
  bool in_block() const { return state_ == State::block; }
  std::size_t bytes() const { return text_.size(); }  // of what waits for more

  // What has come, where no more lines will, be a block closed or not. Nothing where nothing has come.
  std::optional<std::string> finish();

  void clear() { *this = {}; }

 private:
  enum class State { none, continued, block };

  State state_ = State::none;
  std::string text_;
};

}  // namespace cachalot
