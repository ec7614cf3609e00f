// SPDX-License-Identifier: Apache-2.0
// Blocks of equal size by number, each with one holder or several: the pages and rings of sequences. They lie side by
// side in one range of memory, so that operators find a block by its number alone. The range grows as blocks are
// wanted, and may move then: nobody keeps an address over that. Not thread-safe: one owner, the one that decides what
// runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/memory_space.h"

namespace cachalot {

class BlockPool {
 public:
  BlockPool(MemorySpace& memory, std::int64_t block_bytes);
  ~BlockPool() { memory_.give(base_, capacity_ * step_); }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  MemorySpace& memory() const { return memory_; }
  std::int64_t block_bytes() const { return block_bytes_; }
  std::int64_t step() const { return step_; }                   // bytes from a block to the next
  std::int64_t blocks() const { return std::ssize(holders_); }  // numbers there are, in use or not
  std::byte* base() const { return base_; }                     // of block 0
  std::byte* at(std::int32_t number) const { return base_ + number * step_; }

  std::int32_t take();  // all zero, with one holder. Throws std::bad_alloc
  void hold(std::int32_t number) { ++holders_[static_cast<std::size_t>(number)]; }
  void give(std::int32_t number) noexcept;
  bool shared(std::int32_t number) const { return holders_[static_cast<std::size_t>(number)] > 1; }

  // Of all blocks of all pools there have been, this one's; while somebody holds it.
  std::uint64_t id(std::int32_t number) const { return serial_ << 32 | static_cast<std::uint32_t>(number); }

 private:
  MemorySpace& memory_;
  std::int64_t block_bytes_, step_;
  std::uint64_t serial_;
  std::byte* base_ = nullptr;
  std::int64_t capacity_ = 0;  // blocks that fit into the range
  std::vector<std::int32_t> holders_;
  std::vector<std::int32_t> free_;
};

// A block as long as it is held.
class HeldBlock {
 public:
  explicit HeldBlock(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)), number_(pool_->take()) {}
  HeldBlock(HeldBlock&& other) noexcept = default;
  HeldBlock& operator=(HeldBlock&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~HeldBlock() {
    if (pool_) pool_->give(number_);
  }

  HeldBlock share() const { return HeldBlock(*this); }  // one holder more
  void copy(const HeldBlock& from);                     // takes over its bytes
  void make_own();  // another block with the same bytes, if anybody else holds this one

  std::int32_t number() const { return number_; }
  std::uint64_t id() const { return pool_->id(number_); }
  std::byte* at() const { return pool_->at(number_); }

 private:
  HeldBlock(const HeldBlock& other) : pool_(other.pool_), number_(other.number_) { pool_->hold(number_); }

  std::shared_ptr<BlockPool> pool_;
  std::int32_t number_;
};

}  // namespace cachalot
