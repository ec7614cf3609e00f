// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <ostream>
#include <streambuf>

#include "base/shown_text.h"
#include "base/signals.h"
#include "base/text_input.h"

namespace cachalot {
namespace {

constexpr double seconds_between_lines = 5;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::atomic<int> stop_signal{0}, end_signal{0};  // the newest that asks to stop, and the one that ends a conversation
std::atomic<bool> outlasts{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may set them");

void on_signal(int number) {
  stop_signal = number;
  if (number != SIGINT) end_signal = number;
  if (number != SIGINT || !outlasts) std::signal(number, SIG_DFL);
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

VisibleStream screen;  // of standard output

class OutBuffer : public std::streambuf {
  int_type overflow(int_type c) override {
    const char text = traits_type::to_char_type(c);
    return traits_type::eq_int_type(c, traits_type::eof()) || xsputn(&text, 1) == 1 ? traits_type::not_eof(c)
                                                                                    : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    print_out(std::string_view(text, static_cast<std::size_t>(n)));
    return output_is_good() ? n : 0;
  }
  int sync() override { return std::fflush(stdout) == 0 ? 0 : -1; }
};

}  // namespace

Progress::Progress() : terminal_(takes_escapes(STDERR_FILENO)), last_line_(now()) {}

void Progress::show(std::string_view text) {
  if (!terminal_) return;
  print_error(fmt::format("\r\x1b[K{}", ShownText(text)));
  shown_ = true;
}

void Progress::show(std::string_view what, std::int64_t done, std::int64_t total) {
  if (!terminal_) {
    if (now() - last_line_ < seconds_between_lines) return;
    last_line_ = now();
    print_error(fmt::format("{} {}/{}\n", what, done, total));
    return;
  }
  constexpr std::int64_t width = 24;
  const std::int64_t full = total > 0 ? std::min(width, done * width / total) : width;
  show(fmt::format("{} [{:<{}}] {}/{}", what, std::string(static_cast<std::size_t>(full), '='), width, done, total));
}

void Progress::clear() {
  if (!shown_) return;
  print_error("\r\x1b[K");
  shown_ = false;
}

void print_out(std::string_view text) {
  if (isatty(STDOUT_FILENO) != 0) {
    print_raw(screen.push(text));
  } else {
    print_raw(text);
  }
}

void print_raw(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::ostream& out_stream() {
  static OutBuffer buffer;
  static std::ostream stream(&buffer);
  return stream;
}

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool output_is_good() { return std::ferror(stdout) == 0; }

Status finish_output() {
  print_raw(screen.finish());
  if (std::fflush(stdout) != 0 || !output_is_good()) return fail(Errc::io, "can't write to standard output");
  return {};
}

Expected<std::string> read_input(std::size_t most_bytes) {
  return read_descriptor(STDIN_FILENO, "standard input", most_bytes);
}

Status input_was_read() {
  // std::cin is a view of stdin, which knows an error from an end.
  if (std::ferror(stdin) != 0) return fail(Errc::io, "can't read standard input");
  return {};
}

void open_standard_streams() {
  // The wrong way round on purpose: no reading from the first, no writing to the second.
  constexpr std::array modes = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream < static_cast<int>(modes.size()); ++stream) {
    const bool closed = ::fcntl(stream, F_GETFD) < 0 && errno == EBADF;
    // open() takes the lowest number that is free: this one.
    if (closed) (void)::open("/dev/null", modes[static_cast<std::size_t>(stream)]);
  }
}

void catch_interrupts() {
  handle_signal(SIGINT, on_signal);
  handle_signal(SIGTERM, on_signal);
}

bool interrupted() { return stop_signal != 0; }

void await_interrupt() {
  stop_signal = end_signal.load();
  handle_signal(SIGINT, on_signal);
}

int interrupt_exit_code() { return 128 + (stop_signal == 0 ? SIGINT : stop_signal.load()); }

void outlast_interrupts() {
  outlasts = true;
  catch_interrupts();
  struct sigaction now = {};
  if (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) handle_signal(SIGHUP, on_signal);  // nohup
}

int ended_by() { return end_signal; }

void ignore_stray_signals() { std::signal(SIGUSR1, SIG_IGN); }

bool knows_escapes(int stream) {
  return isatty(stream) != 0 && variable("TERM") != "dumb" && !variable("TERM").empty();
}

bool takes_escapes(int stream) { return knows_escapes(stream) && variable("NO_COLOR").empty(); }

void report_file_limits() { std::signal(SIGXFSZ, SIG_IGN); }

int report(const Error& error) {
  print_error(fmt::format("cachalot: {}\n", error.message));
  return error.code == Errc::usage ? 2 : error.code == Errc::stopped ? interrupt_exit_code() : 1;
}

}  // namespace cachalot
