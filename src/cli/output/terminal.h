// SPDX-License-Identifier: Apache-2.0
// What a person sees while a command works, and how he stops it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

// One line of standard error that shows where a long work is: rewritten in place on a terminal, silent where standard
// error is a file or a pipe and the work is short.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view text);
  // "what 128/2000 tokens" and a bar; plain lines, a few seconds apart, where there is no terminal.
  void show(std::string_view what, std::int64_t done, std::int64_t total);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  double last_line_;
};

// Results go to standard output through these. They never throw; what could not be written, finish_output() tells.
// On a terminal control characters are made visible (base/shown_text.h): most of it is text that others wrote. To a
// pipe or a file it goes as it is.
void print_out(std::string_view text);
// For who has made it fit for a terminal, and has controls of his own in it.
void print_raw(std::string_view text);
// print_out() as a stream.
std::ostream& out_stream();
// Messages go to standard error; where that is gone there is nobody to tell.
void print_error(std::string_view text);
// False once something for standard output was lost: there is no use in going on.
bool output_is_good();
// An error where standard output did not take everything.
Status finish_output();
// All of standard input. Error: Errc::range for more than `most_bytes`, as soon as they were read.
Expected<std::string> read_input(std::size_t most_bytes);
Status input_was_read();

// Puts /dev/null in the place of a standard stream that was closed. Else the next file opened would have its number,
// and messages would land in a checkpoint. Reading from or printing to such a place fails.
void open_standard_streams();

// From here on the first Ctrl-C (or SIGTERM) only sets a flag, so that a command can end by itself; a second one ends
// it at once.
void catch_interrupts();
bool interrupted();
// As a shell has it: 130 for Ctrl-C, 143 for SIGTERM.
int interrupt_exit_code();

// Whether a stream is a terminal that knows escape sequences (TERM is neither dumb nor missing), and whether it may
// show them as well (NO_COLOR is not set).
bool knows_escapes(int stream);
bool takes_escapes(int stream);

// For work that goes on after an interrupt: the flag is as new, the next Ctrl-C sets it, and one more ends the program,
// unless it outlasts them.
void await_interrupt();

// For a conversation, which nothing but its end may take away: SIGINT sets the flag however often it comes, SIGTERM and
// SIGHUP as well; of these a second one ends the program at once.
void outlast_interrupts();
// Of SIGTERM and SIGHUP the one that came, from then on; else 0.
int ended_by();

// What the program has no use for, and would end it: SIGUSR1 is ignored.
void ignore_stray_signals();

// From here on a file that may grow no further (`ulimit -f`) is an error to tell, not the end of the program.
void report_file_limits();

// Prints "cachalot: …" and gives the exit code: 2 for usage, interrupt_exit_code() for Errc::stopped, else 1.
int report(const Error& error);

}  // namespace cachalot
