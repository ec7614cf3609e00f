// SPDX-License-Identifier: Apache-2.0
// First level of the two-level selection: which blocks of groups later index sources may look into. Source: spec 3.4.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace cachalot {

struct CandidatesArgs {
  View<const float, 2> score;           // [rows, groups]
  View<const std::int64_t, 1> visible;  // [rows]; groups from there on are not looked at
  std::int64_t block_size;              // groups a block; the last block may be short
  View<std::int32_t, 2> block;          // [rows, candidate_topk_blocks], ascending, -1 behind the last one kept

  template <class S>
  void each(S&& s) {
    s.in(score, visible);
    s.out(block);
  }
};

// A block counts as its best visible group, NaN and -inf as the lowest there is; the block of the newest visible group
// is always kept; blocks where nothing is visible never are; ties go to the lower block. With nothing visible nothing
// is kept. Discrete: the same on every backend.
void candidates_ref(Context& context, const CandidatesArgs& args);
void candidates_cpu(Context& context, const CandidatesArgs& args);

}  // namespace cachalot
