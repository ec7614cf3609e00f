// SPDX-License-Identifier: Apache-2.0
#include "cli/output/lost_pages.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>

#include "base/signals.h"
#include "base/watched_mappings.h"

namespace cachalot {
namespace {

std::atomic<bool> told{false};
struct sigaction before = {};

// What a handler may do: no allocation, no stdio.
void tell(std::string_view text) { write_all(STDERR_FILENO, text); }
void tell(std::size_t number) {
  std::array<char, 20> digits;
  std::size_t first = digits.size();
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  tell(std::string_view(digits.data() + first, digits.size() - first));
}

void on_bus_error(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const auto mapping = mapping_at(at);
  if (!mapping) {
    ::sigaction(SIGBUS, &before, nullptr);  // the read is tried again, and the handler before us gets it
    return;
  }
  if (told.exchange(true)) {
    while (true) ::pause();  // another thread is at it, and ends the program
  }
  tell("cachalot: ");
  tell(mapping->shown);
  tell(": byte ");
  tell(static_cast<std::size_t>(at - mapping->data));
  tell(" can't be read any more: the file had ");
  tell(mapping->size);
  tell(" bytes when it was opened");
  struct stat now = {};
  if (::stat(mapping->path, &now) != 0) {
    tell(" and is not there now");
  } else {
    tell(" and has ");
    tell(static_cast<std::size_t>(now.st_size));
    tell(" now");
  }
  tell("; was it cut or replaced while it was in use, or does the disk fail?\n");
  ::_exit(1);
}

}  // namespace

void tell_lost_pages() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

}  // namespace cachalot
