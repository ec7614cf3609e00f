// SPDX-License-Identifier: Apache-2.0
// What one sequence's state takes, from its shape alone: for planning, before anything is allocated.
#pragma once

#include <cstdint>

#include "kv/state_shape.h"

namespace cachalot {

// Equal to the byte to what a Sequence that ran `positions` positions says of itself.
struct StateBytes {
  std::int64_t rings = 0;              // window KV of every layer and draft stage
  std::int64_t compressor_inputs = 0;  // of unfinished groups
  std::int64_t history = 0;            // classes and dead flags that n-grams look back on
  std::int64_t compressed = 0;         // in whole pages
  std::int64_t index_keys = 0;         // likewise

  std::int64_t fixed() const { return rings + compressor_inputs + history; }
  std::int64_t pages() const { return compressed + index_keys; }
  std::int64_t all() const { return fixed() + pages(); }
};

StateBytes state_bytes(const StateShape& shape, std::int64_t positions);

// What one more position adds in the long run, page borders left out. Not whole where a group of 3 tokens ends.
struct TokenBytes {
  double compressed = 0;
  double index_keys = 0;

  double all() const { return compressed + index_keys; }
};

TokenBytes token_bytes(const StateShape& shape);

}  // namespace cachalot
