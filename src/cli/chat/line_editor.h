// SPDX-License-Identifier: Apache-2.0
// Lines typed on a terminal, with editing and a history that outlives the program (libedit). Only where standard input
// is a terminal.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/chat/line_completion.h"

namespace cachalot {

// $XDG_STATE_HOME/cachalot/history, else ~/.local/state/cachalot/history; empty where there is no home.
std::filesystem::path history_file();

class LineEditor {
 public:
  // What Tab adds to the text before the cursor.
  using Completer = std::function<LineCompletion(std::string_view before)>;

  // A history that can't be read or written is no error: there just is none.
  explicit LineEditor(std::filesystem::path history, Completer completer = {});
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End {
    line,       // Enter
    interrupt,  // Ctrl-C
    signal,     // SIGINT, which only others can send while a line is typed
    end         // Ctrl-D on an empty line, or the terminal is gone, or the program has to end (terminal.h)
  };
  struct Line {
    End end = End::line;
    std::string text{};  // without its end; also what stood there at an interrupt
  };
  // Within it Ctrl-C is a key like any other, and Ctrl-Z and a changed size of the terminal are looked after. What is
  // pasted is a part of the line, with all its lines. UTF-8.
  Line read(const std::string& prompt);

  // Puts a line into the history and its file.
  void remember(const std::string& line);

 private:
  void bind_keys();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cachalot
