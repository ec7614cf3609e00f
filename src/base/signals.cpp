// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <unistd.h>

#include <initializer_list>

namespace cachalot {

void handle_signal(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

SignalsBlocked::SignalsBlocked() : before_() {
  sigset_t all;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, own);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = through_signals([&] { return ::write(descriptor, text.data(), text.size()); });
    if (n == 0) errno = EIO;  // nothing was taken
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace cachalot
