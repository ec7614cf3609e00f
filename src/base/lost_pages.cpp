// SPDX-License-Identifier: Apache-2.0
#include "base/lost_pages.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "base/shown_text.h"
#include "base/signals.h"

namespace cachalot {
namespace {

// A list that only grows, so that the handler may walk it at any time; a place is used again once its mapping is gone.
struct Mapping {
  std::atomic<const std::byte*> data{nullptr};  // null: free; path and size change only then
  std::size_t size = 0;
  std::string path, shown;  // and how a terminal may show it
  Mapping* next = nullptr;
};
std::atomic<Mapping*> mappings{nullptr};
std::mutex changes;
std::atomic<bool> told{false};
struct sigaction before = {};

// What a handler may do: no allocation, no stdio.
void tell(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = through_signals([&] { return ::write(STDERR_FILENO, text.data(), text.size()); });
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}
void tell(std::size_t number) {
  std::array<char, 20> digits;
  std::size_t first = digits.size();
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  tell(std::string_view(digits.data() + first, digits.size() - first));
}

void on_bus_error(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const Mapping* m = mappings.load(); m != nullptr; m = m->next) {
    const std::byte* data = m->data.load();
    if (data == nullptr || at < data || at >= data + m->size) continue;
    if (told.exchange(true)) {
      while (true) ::pause();  // another thread is at it, and ends the program
    }
    tell("cachalot: ");
    tell(m->shown);
    tell(": byte ");
    tell(static_cast<std::size_t>(at - data));
    tell(" can't be read any more: the file had ");
    tell(m->size);
    tell(" bytes when it was opened");
    struct stat now = {};
    if (::stat(m->path.c_str(), &now) != 0) {
      tell(" and is not there now");
    } else {
      tell(" and has ");
      tell(static_cast<std::size_t>(now.st_size));
      tell(" now");
    }
    tell("; was it cut or replaced while it was in use, or does the disk fail?\n");
    ::_exit(1);
  }
  ::sigaction(SIGBUS, &before, nullptr);  // the read is tried again, and the handler before us gets it
}

void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

}  // namespace

void watch_mapping(const std::byte* data, std::size_t size, const std::filesystem::path& path) {
  static std::once_flag once;
  std::call_once(once, install);
  const std::lock_guard lock(changes);
  Mapping* place = mappings.load();
  while (place != nullptr && place->data.load() != nullptr) place = place->next;
  if (place == nullptr) {
    place = new Mapping;  // kept for the handler until the program ends
    place->next = mappings.load();
    mappings.store(place);
  }
  place->size = size;
  place->path = path.string();
  place->shown = shown_text(place->path);
  place->data.store(data);
}

void forget_mapping(const std::byte* data) {
  const std::lock_guard lock(changes);
  for (Mapping* m = mappings.load(); m != nullptr; m = m->next) {
    if (m->data.load() == data) m->data.store(nullptr);
  }
}

std::size_t mapping_places() {
  const std::lock_guard lock(changes);
  std::size_t n = 0;
  for (const Mapping* m = mappings.load(); m != nullptr; m = m->next) ++n;
  return n;
}

}  // namespace cachalot
