// SPDX-License-Identifier: Apache-2.0
// An answer on the screen, while it is made.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/shown_text.h"
#include "tokenizer/chat/completion.h"

namespace cachalot {

// get_weather(city="Paris", days=3); arguments that are no object are shown as they are.
std::string call_text(const ToolCall& call);

struct ChatStyle {
  bool terminal = false;      // no control character may get through
  bool color = false;         // reasoning is dim; else it stands between <think> and </think>
  bool show_thinking = true;  // false: reasoning is left out
};

class ChatView {
 public:
  using Sink = std::function<void(std::string_view)>;

  ChatView(const ChatStyle& style, Sink out, Sink notes)
      : style_(style), out_(std::move(out)), notes_(std::move(notes)) {}

  void reasoning(std::string_view text);
  void content(std::string_view text);
  void call(const ToolCall& call);
  // Ends the last line; an answer that shows nothing is an empty one, so that each has at least one.
  void end_answer();

  // What a command says, and what there is to say about an answer; whole lines.
  void say(std::string_view text) { out_(shown(text)); }
  void note(std::string_view text) { notes_(shown(text)); }

  std::string shown(std::string_view text) const { return style_.terminal ? visible_text(text) : std::string(text); }

 private:
  enum class Part { none, reasoning, content };

  void begin(Part part);
  void print(std::string_view text);

  ChatStyle style_;
  Sink out_, notes_;
  Part part_ = Part::none;
  bool at_line_start_ = true;
  bool empty_ = true;
};

}  // namespace cachalot
