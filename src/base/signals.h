// SPDX-License-Identifier: Apache-2.0
// Signals: which thread takes them, and that no call ends early for one.
#pragma once

#include <cerrno>
#include <csignal>
#include <string_view>

namespace cachalot {

// Installs a handler after which system calls go on by themselves. All of the program's are installed so, since
// neither stdio nor a library can be trusted to try again.
void handle_signal(int number, void (*handler)(int));

// While it lives this thread blocks every signal but those that tell of its own fault (SIGSEGV and its like), and so do
// the threads that it begins, for as long as they live: a handler runs in the main thread, where it is known what it
// breaks into.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// A system call once more for as long as a signal broke it off. Not for close(), which has closed all the same.
template <class Call>
auto through_signals(const Call& call) -> decltype(call()) {
  decltype(call()) result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// Writes it whole, whatever signals come; a handler may call it. False: errno says why.
bool write_all(int descriptor, std::string_view text);

}  // namespace cachalot
