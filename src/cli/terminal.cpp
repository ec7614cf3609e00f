// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

namespace cachalot {
namespace {

constexpr double seconds_between_lines = 5;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");

void on_signal(int number) {
  stop = true;
  std::signal(number, SIG_DFL);
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0), last_line_(now()) {}

void Progress::show(std::string_view text) {
  if (!terminal_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::show(std::string_view what, std::int64_t done, std::int64_t total) {
  if (!terminal_) {
    if (now() - last_line_ < seconds_between_lines) return;
    last_line_ = now();
    fmt::print(stderr, "{} {}/{}\n", what, done, total);
    return;
  }
  constexpr std::int64_t width = 24;
  const std::int64_t full = total > 0 ? std::min(width, done * width / total) : width;
  show(fmt::format("{} [{:<{}}] {}/{}", what, std::string(static_cast<std::size_t>(full), '='), width, done, total));
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() { return stop; }

int report(const Error& error) {
  fmt::print(stderr, "cachalot: {}\n", error.message);
  return error.code == Errc::usage ? 2 : 1;
}

}  // namespace cachalot
