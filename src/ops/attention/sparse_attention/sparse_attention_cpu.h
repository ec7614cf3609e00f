// SPDX-License-Identifier: Apache-2.0
// What the CPU's sparse attention keeps of a row.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace cachalot {

constexpr std::int64_t block_entries = 64;  // of a list, relative to one maximum
constexpr std::int64_t slot_group = 8;      // scored while in the first cache; blocks are padded to it

// A row on its way through its list. Heads have places of their own, so that threads can share one.
struct AttentionRow {
  View<float, 2> q;            // [heads, padded dim]
  View<float, 2> sum;          // [heads, padded dim]: Σ probability · value so far
  View<float, 2> probability;  // [heads, block_entries], of the block at hand; scores first
  View<float, 1> top;          // [heads]
  View<float, 1> weights;      // [heads]
  View<float, 1> shrink;       // [heads]: what the block at hand's maximum does to earlier sums
};

// Decoded slots; rows are further apart than a power of two, which would share few places of the cache.
struct DecodedSlots {
  const float* kv;
  std::int64_t stride;
};

}  // namespace cachalot
