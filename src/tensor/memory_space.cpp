// SPDX-License-Identifier: Apache-2.0
#include "tensor/memory_space.h"

#include <cstring>
#include <new>

#include "base/system_memory.h"

namespace cachalot {
namespace {

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

std::byte* or_throw(std::byte* at) {
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

class HostMemory final : public MemorySpace {
 public:
  bool on_host() const override { return true; }
  std::byte* take(std::int64_t bytes) override { return bytes == 0 ? nullptr : or_throw(map_memory(size(bytes))); }
  std::byte* grow(std::byte* at, std::int64_t bytes, std::int64_t to) override {
    return at == nullptr ? take(to) : or_throw(grow_memory(at, size(bytes), size(to)));
  }
  void give(std::byte* at, std::int64_t bytes) noexcept override {
    if (at != nullptr) unmap_memory(at, size(bytes));
  }
  void clear(std::byte* at, std::int64_t bytes) override {
    if (bytes > 0) std::memset(at, 0, size(bytes));
  }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, size(bytes));
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { copy(to, from.data(), std::ssize(from)); }
  void download(std::span<std::byte> to, const std::byte* from) const override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }
};

}  // namespace

MemorySpace& host_memory() {
  // Never destroyed: a model that lives as long as the program gives its memory back at the very end.
  static MemorySpace& memory = *new HostMemory;
  return memory;
}

}  // namespace cachalot
