// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/typing.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/check.h"
#include "base/signals.h"
#include "cli/chat/key_decoder.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

constexpr std::array shown_ones = {SIGTSTP, SIGCONT, SIGWINCH};  // in the order in which wait() tells them
// What ends a program that does not care: who has a handler of his own keeps it.
constexpr std::array fatal_ones = {SIGQUIT, SIGABRT,   SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGSYS, SIGTRAP,
                                   SIGALRM, SIGVTALRM, SIGPROF, SIGUSR2, SIGPIPE, SIGXCPU, SIGPWR, SIGIO};

std::array<std::atomic<bool>, 65> came{};
void note(int number) { came[static_cast<std::size_t>(number)] = true; }

// What on_fatal() needs, while a line is typed.
int terminal_in = -1, terminal_out = -1;
bool terminal_marks = false;
termios terminal_before = {};

// From the background too: there it would stop the program.
void set_attributes(int in, const termios& to) {
  sigset_t output, before;
  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &output, &before);
  through_signals([&] { return ::tcsetattr(in, TCSANOW, &to); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_fatal(int number) {
  if (terminal_marks) write_all(terminal_out, paste_marks_off);
  set_attributes(terminal_in, terminal_before);
  std::signal(number, SIG_DFL);
  std::raise(number);  // it comes when this returns
}

bool has_default(int number) {
  struct sigaction now = {};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

bool has_ours(int number) {
  struct sigaction now = {};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_fatal;
}

sigset_t waited_for() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : shown_ones) sigaddset(&set, number);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);  // terminal.h has their handlers
  return set;
}

}  // namespace

Typing::Typing(int in, int out)
    : in_(in), out_(out), escapes_(knows_escapes(out)), before_(), taken_(), mask_before_() {
  check(terminal_in < 0, "one line at a time is typed");
  const sigset_t set = waited_for();
  ::pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  through_signals([&] { return ::tcgetattr(in_, &before_); });
  terminal_before = before_;
  terminal_in = in_;
  terminal_out = out_;
  for (const int number : shown_ones) {
    came[static_cast<std::size_t>(number)] = false;
    handle_signal(number, note);
  }
  for (const int number : fatal_ones) {
    if (has_default(number)) handle_signal(number, on_fatal);
  }
  marks(true);
}

Typing::~Typing() {
  marks(false);
  set_attributes(in_, before_);
  for (const int number : fatal_ones) {
    if (has_ours(number)) std::signal(number, SIG_DFL);
  }
  for (const int number : shown_ones) std::signal(number, SIG_DFL);
  terminal_in = -1;
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);  // one that waited comes now, and finds the terminal restored
}

int Typing::wait() {
  while (true) {
    if (ended_by() != 0) return SIGTERM;
    if (interrupted()) return SIGINT;
    for (const int number : shown_ones) {
      if (came[static_cast<std::size_t>(number)].exchange(false)) return number;
    }
    pollfd input{.fd = in_, .events = POLLIN, .revents = 0};
    if (::ppoll(&input, 1, nullptr, &mask_before_) >= 0 || errno != EINTR) return 0;
  }
}

void Typing::taken() {
  through_signals([&] { return ::tcgetattr(in_, &taken_); });
}

bool Typing::still_taken() const {
  termios now = {};
  if (through_signals([&] { return ::tcgetattr(in_, &now); }) != 0) return true;
  return now.c_lflag == taken_.c_lflag && now.c_iflag == taken_.c_iflag && now.c_oflag == taken_.c_oflag &&
         std::ranges::equal(now.c_cc, taken_.c_cc);
}

void Typing::suspend() {
  marks(false);
  set_attributes(in_, before_);
  std::signal(SIGTSTP, SIG_DFL);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  std::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here it stops, and goes on
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  handle_signal(SIGTSTP, note);
}

void Typing::marks(bool on) {
  if (!escapes_) return;
  terminal_marks = on;
  write_all(out_, on ? paste_marks_on : paste_marks_off);
}

}  // namespace cachalot
