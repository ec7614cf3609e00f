// SPDX-License-Identifier: Apache-2.0
// What a step takes from the arena at most, from the config alone: for planning, before anything is loaded.
#pragma once

#include <cstdint>

#include "checkpoint/config.h"
#include "model/model.h"

namespace cachalot {

// Rows whose index scores are held at once, so that scratch grows with the context or with the rows, never with their
// product.
inline constexpr std::int64_t index_tile_rows = 16;

struct StepShape {
  std::int64_t rows = 1;
  std::int64_t positions = 1;  // of the longest sequence, after the step
  std::int64_t sequences = 1;  // that have rows in it
  std::int64_t logits = 1;     // rows that want them
  std::int64_t threads = 1;
  Numerics numerics = Numerics::released;
  bool drafts = false;
  bool drops = false;  // rows for the global state only (spec 11)
};

// The walk of Model::forward and Pass over the arena, and nothing else of them: the peak that
// Context::scratch.peak_bytes() tells after such a step on the CPU backend without an observer. At most as much:
// experts count as if all rows had chosen the same ones. With drafts, the draft blocks of all sequences too.
std::int64_t scratch_bytes(const Config& config, const StepShape& step);

}  // namespace cachalot
