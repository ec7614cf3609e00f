// SPDX-License-Identifier: Apache-2.0
// Memory that the host can't look into, as a device's: its addresses are nobody's memory, and whoever reads or writes
// there is stopped by the system at that instruction. The bytes lie elsewhere, where behind() says. For tests.
#pragma once

#include <map>
#include <mutex>

#include "tensor/memory_space.h"

namespace cachalot {

class GuardedMemory final : public MemorySpace {
 public:
  GuardedMemory() = default;

  std::byte* take(std::int64_t bytes) override;
  std::byte* grow(std::byte* at, std::int64_t bytes, std::int64_t to) override;  // always elsewhere
  void give(std::byte* at, std::int64_t bytes) noexcept override;
  void clear(std::byte* at, std::int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) const override;

  // Where the host has the `bytes` bytes from `at` on: they have to be in one piece that was taken. An address that was
  // not taken here is the host's own, and stays.
  std::byte* behind(const std::byte* at, std::int64_t bytes) const;

 private:
  struct Piece {
    std::int64_t bytes;
    std::byte* host;
  };
  mutable std::mutex mutex_;
  std::map<const std::byte*, Piece> pieces_;
};

// The one that the backend `guarded` works in.
GuardedMemory& guarded_memory();

}  // namespace cachalot
