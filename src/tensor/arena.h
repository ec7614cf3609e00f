// SPDX-License-Identifier: Apache-2.0
// Scratch of a step: memory that is taken in order and given back in order, and asked of its memory space only when
// it grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/memory_space.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

class Arena {
 public:
  explicit Arena(MemorySpace& memory = host_memory()) : memory_(&memory) {}
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  // Not initialised, aligned to 64 bytes, valid until the Frame it was taken in ends. Throws std::bad_alloc.
  void* take_bytes(std::int64_t bytes);

  template <class T, int N>
  View<T, N> take(std::array<std::int64_t, N> shape) {
    View<T, N> v(nullptr, shape);
    return View<T, N>(static_cast<T*>(take_bytes(v.size() * static_cast<std::int64_t>(sizeof(T)))), shape);
  }
  template <int N>
  Values<N> take_values(DType type, std::array<std::int64_t, N> shape) {
    Values<N> v(nullptr, type, shape);
    return Values<N>(take_bytes(v.size() * bytes_of(type)), type, shape);
  }

  std::int64_t peak_bytes() const { return peak_; }

  // Everything taken while a Frame lives is given back when it ends.
  class Frame {
   public:
    explicit Frame(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_), in_use_(arena.in_use_) {}
    ~Frame() {
      arena_.block_ = block_;
      arena_.used_ = used_;
      arena_.in_use_ = in_use_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Arena& arena_;
    std::size_t block_;
    std::int64_t used_;
    std::int64_t in_use_;
  };

 private:
  static std::int64_t size(const HeldMemory& block) { return block.get_deleter().bytes; }

  MemorySpace* memory_;
  std::vector<HeldMemory> blocks_;
  std::size_t block_ = 0;    // the block that is being taken from
  std::int64_t used_ = 0;    // of that block
  std::int64_t in_use_ = 0;  // of all blocks
  std::int64_t peak_ = 0;
};

}  // namespace cachalot
