// SPDX-License-Identifier: Apache-2.0
#include "kv/block_pool.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "base/check.h"

namespace cachalot {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> next = 0;
  return next++;
}

}  // namespace

BlockPool::BlockPool(MemorySpace& memory, std::int64_t block_bytes)
    : memory_(memory), block_bytes_(block_bytes), step_((block_bytes + 63) / 64 * 64), serial_(next_serial()) {}

std::int32_t BlockPool::take() {
  if (!free_.empty()) {
    const std::int32_t number = free_.back();
    memory_.clear(at(number), block_bytes_);
    free_.pop_back();
    holders_[static_cast<std::size_t>(number)] = 1;
    return number;
  }
  check(blocks() < std::numeric_limits<std::int32_t>::max(), "blocks are numbered in 32 bits");
  holders_.reserve(holders_.size() + 1);
  free_.reserve(holders_.size() + 1);  // so that giving back needs no memory
  if (blocks() == capacity_) {
    // By an eighth: memory that nobody has written to yet costs nothing but address space.
    const std::int64_t more = std::max<std::int64_t>(1, capacity_ / 8);
    base_ = memory_.grow(base_, capacity_ * step_, (capacity_ + more) * step_);
    capacity_ += more;
  }
  holders_.push_back(1);
  return static_cast<std::int32_t>(blocks() - 1);
}

void BlockPool::give(std::int32_t number) noexcept {
  if (--holders_[static_cast<std::size_t>(number)] == 0) free_.push_back(number);
}

void HeldBlock::copy(const HeldBlock& from) { pool_->memory().copy(at(), from.at(), pool_->block_bytes()); }

void HeldBlock::make_own() {
  if (!pool_->shared(number_)) return;
  HeldBlock own(pool_);
  own.copy(*this);
  *this = std::move(own);
}

}  // namespace cachalot
