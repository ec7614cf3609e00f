// SPDX-License-Identifier: Apache-2.0
// Where sequences of one model keep what they remember: a ring each, of all layers and of compressor inputs, and pages
// of compressed KV with their index keys, one pool of pages for each KV source. Operators get a pool and row numbers.
#pragma once

#include <memory>
#include <vector>

#include "kv/block_pool.h"
#include "kv/state_shape.h"

namespace cachalot {

// A handle: copies are the same pools.
class StatePools {
 public:
  StatePools(const StateShape& shape, MemorySpace& memory = host_memory());

  const StateShape& shape() const { return pools_->shape; }
  MemorySpace& memory() const { return pools_->rings->memory(); }
  bool operator==(const StatePools&) const = default;

  HeldBlock new_ring() const { return HeldBlock(pools_->rings); }
  HeldBlock new_page(std::int64_t source) const { return HeldBlock(pools_->pages[static_cast<std::size_t>(source)]); }

  // All there are of a layer or source, until a block is taken that makes a pool grow.
  PackedRowsOut rings(std::int64_t layer) const;        // position p of ring r: row r · ring_slots + p mod ring_slots
  PackedRowsOut inputs(std::int64_t source) const;      // likewise; f32, head_dim of kv, then head_dim of score
  PackedRowsOut compressed(std::int64_t source) const;  // group g of page p: row p · page_groups + g mod page_groups
  PackedRowsOut index_keys(std::int64_t source) const;  // likewise

  // In a ring: all inputs, then all layers. In a page: compressed rows, then keys.
  std::int64_t ring_at(std::int64_t layer) const { return pools_->rings_at + layer * shape().ring_bytes(); }
  std::int64_t inputs_at(std::int64_t source) const { return pools_->inputs_at[static_cast<std::size_t>(source)]; }

 private:
  struct Pools {
    StateShape shape;
    std::shared_ptr<BlockPool> rings;
    std::vector<std::shared_ptr<BlockPool>> pages;
    std::vector<std::int64_t> inputs_at;
    std::int64_t rings_at;
  };
  std::shared_ptr<const Pools> pools_;
};

}  // namespace cachalot
