// SPDX-License-Identifier: Apache-2.0
#include "base/watched_mappings.h"

#include <atomic>
#include <mutex>
#include <string>

#include "base/shown_text.h"

namespace cachalot {
namespace {

// A list that only grows, so that a handler may walk it at any time; a place is used again once its mapping is gone.
struct Mapping {
  std::atomic<const std::byte*> data{nullptr};  // null: free; path and size change only then
  std::size_t size = 0;
  std::string path, shown;
  Mapping* next = nullptr;
};
std::atomic<Mapping*> mappings{nullptr};
std::mutex changes;

}  // namespace

void watch_mapping(const std::byte* data, std::size_t size, const std::filesystem::path& path) {
  const std::lock_guard lock(changes);
  Mapping* place = mappings.load();
  while (place != nullptr && place->data.load() != nullptr) place = place->next;
  if (place == nullptr) {
    place = new Mapping;  // kept for handlers until the program ends
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

std::optional<WatchedMapping> mapping_at(const std::byte* at) {
  for (const Mapping* m = mappings.load(); m != nullptr; m = m->next) {
    const std::byte* data = m->data.load();
    if (data == nullptr || at < data || at >= data + m->size) continue;
    return WatchedMapping{data, m->size, m->path.c_str(), m->shown};
  }
  return std::nullopt;
}

std::size_t mapping_places() {
  const std::lock_guard lock(changes);
  std::size_t n = 0;
  for (const Mapping* m = mappings.load(); m != nullptr; m = m->next) ++n;
  return n;
}

}  // namespace cachalot
