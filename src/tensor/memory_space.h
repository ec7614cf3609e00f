// SPDX-License-Identifier: Apache-2.0
// Where the bytes live that operators read and write: the host's memory, or a device's. Nobody else looks into them:
// what the host wants to know it downloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cachalot {

class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  virtual bool on_host() const { return false; }  // may the host read and write here?

  // Zeroed, aligned to 64 bytes; null for no bytes. Throws std::bad_alloc.
  virtual std::byte* take(std::int64_t bytes) = 0;
  // The same bytes and zeros behind them, perhaps elsewhere. Throws std::bad_alloc, and all stays as it is.
  virtual std::byte* grow(std::byte* at, std::int64_t bytes, std::int64_t to) = 0;
  virtual void give(std::byte* at, std::int64_t bytes) noexcept = 0;

  virtual void clear(std::byte* at, std::int64_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;  // within; they do not overlap
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const std::byte* from) const = 0;

 protected:
  MemorySpace() = default;
  MemorySpace(const MemorySpace&) = default;
  MemorySpace& operator=(const MemorySpace&) = default;
};

MemorySpace& host_memory();

// Memory of a space as long as it is held.
struct GiveMemory {
  MemorySpace* memory = nullptr;
  std::int64_t bytes = 0;
  void operator()(std::byte* at) const noexcept { memory->give(at, bytes); }
};
using HeldMemory = std::unique_ptr<std::byte, GiveMemory>;
inline HeldMemory take_memory(MemorySpace& memory, std::int64_t bytes) {
  return {memory.take(bytes), GiveMemory{&memory, bytes}};
}

}  // namespace cachalot
