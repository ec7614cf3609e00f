// SPDX-License-Identifier: Apache-2.0
// Lines typed on a terminal, with editing and a history that outlives the program (libedit). Only where standard input
// is a terminal.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace cachalot {

// $XDG_STATE_HOME/cachalot/history, else ~/.local/state/cachalot/history; empty where there is no home.
std::filesystem::path history_file();

class LineEditor {
 public:
  // A history that can't be read or written is no error: there just is none.
  explicit LineEditor(std::filesystem::path history);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End { line, interrupt, end };  // Enter; Ctrl-C; Ctrl-D on an empty line, or the terminal is gone
  struct Line {
    End end = End::line;
    std::string text{};  // without its end; also what stood there at an interrupt
  };
  // Within it Ctrl-C is a key like any other, and Ctrl-Z and a changed size of the terminal are looked after. UTF-8.
  Line read(const std::string& prompt);

  // Puts a line into the history and its file.
  void remember(const std::string& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cachalot
