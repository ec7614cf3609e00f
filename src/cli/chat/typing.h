// SPDX-License-Identifier: Apache-2.0
// A terminal while a line is typed on it, and the signals that come meanwhile.
#pragma once

#include <csignal>
#include <string_view>

#include <termios.h>

namespace cachalot {

// While it lives, signals come in wait() and nowhere else, so that nothing breaks into the line editor. However it
// ends, the terminal is as it was at its beginning: also where a signal or a fault of ours ends the program. One at a
// time.
class Typing {
 public:
  // Where `out` knows escape sequences, pasted text comes between marks (key_decoder.h).
  Typing(int in, int out);
  ~Typing();
  Typing(const Typing&) = delete;
  Typing& operator=(const Typing&) = delete;

  // Until there is something to read: 0; else the signal that came: SIGWINCH, SIGCONT, SIGTSTP, or for an interrupt
  // (terminal.h) SIGINT, for the program's end SIGTERM.
  int wait();

  // To be told once the line editor has set the terminal for itself; then whether it is still so.
  void taken();
  bool still_taken() const;

  // What SIGTSTP is for. Nothing happens where nobody could let the program go on, as for a session's leader. The
  // terminal has to be given back before, and marks() taken again behind it.
  void suspend();
  void marks(bool on);

 private:
  int in_, out_;
  bool escapes_;
  termios before_, taken_;
  sigset_t mask_before_;
};

}  // namespace cachalot
