// SPDX-License-Identifier: Apache-2.0
// The index_topk best visible groups of each row, inside the candidate blocks where there are any. Source: spec 3.4.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace cachalot {

struct SelectionArgs {
  View<const float, 2> score;           // [rows, groups]
  View<const std::int64_t, 1> visible;  // [rows]
  View<const std::int32_t, 2>
      block;  // [rows, blocks] from candidates.h; an empty view ([rows, 0]) allows every visible group
  std::int64_t block_size = 1;
  View<std::int32_t, 2> group;  // [rows, index_topk], ascending, -1 behind the last one

  template <class S>
  void each(S&& s) {
    s.in(score, visible, block);
    s.out(group);
  }
};

// NaN and -inf count as the lowest there is: such a group comes last, but it comes. Ties go to the lower group: exact
// ties are common (ReLU zeros, coarse fp4 dots). Discrete: the same on every backend.
void selection_ref(Context& context, const SelectionArgs& args);
void selection_cpu(Context& context, const SelectionArgs& args);

}  // namespace cachalot
