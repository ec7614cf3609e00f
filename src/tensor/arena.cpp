// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <algorithm>

namespace cachalot {
namespace {

constexpr std::int64_t alignment = 64;  // a cache line, and the widest vector register
constexpr std::int64_t smallest_block = 1 << 20;

}  // namespace

void* Arena::take_bytes(std::int64_t bytes) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  while (block_ < blocks_.size() && used_ + bytes > size(blocks_[block_])) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::int64_t last = blocks_.empty() ? 0 : size(blocks_.back());
    blocks_.push_back(take_memory(*memory_, std::max({bytes, smallest_block, 2 * last})));
    used_ = 0;
  }
  void* at = blocks_[block_].get() + used_;
  used_ += bytes;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return at;
}

}  // namespace cachalot
