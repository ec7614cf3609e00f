// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <sys/mman.h>

#include "base/check.h"

namespace cachalot {

std::byte* map_memory(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

std::byte* grow_memory(std::byte* at, std::size_t bytes, std::size_t to) {
  void* moved = ::mremap(at, bytes, to, MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? nullptr : static_cast<std::byte*>(moved);
}

void unmap_memory(std::byte* at, std::size_t bytes) noexcept {
  check(::munmap(at, bytes) == 0, "memory that was mapped");
}

std::byte* reserve_addresses(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace cachalot
