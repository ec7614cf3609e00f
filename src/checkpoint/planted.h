// SPDX-License-Identifier: Apache-2.0
// Ties and clamps for synthetic checkpoints, on request: random weights alone hardly ever meet them, so a wrong rule
// for them would stay hidden.
#pragma once

#include <cstdint>

#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"

namespace cachalot {

struct Plants {
  // Router: the rows of experts are equal in groups that top_k does not divide, so that the last place is a tie.
  // Index keys: one of two vectors whatever the group, so that groups tie by the half, and their blocks with them.
  // Head: tokens 2i and 2i + 1 have the same logit.
  bool ties = false;
  // Experts, the shared one too: of four rows of w1 and w3 one is 64 times as large in both, one in w1, one in w3.
  // Those leave swiglu_limit behind, where there is one. Where scales are of blocks, it is four rows of blocks.
  bool clamps = false;
};

// What that does to one tensor.
struct Planted {
  std::int64_t equal_rows = 1;    // row r repeats row r - r % equal_rows
  bool odd_rows_negated = false;  // after that
  std::int64_t zeros_at_end = 0;  // of a vector
  unsigned large_rows = 0;        // bit r % 4: row r of a scale is 64 times as large

  bool any() const { return equal_rows > 1 || zeros_at_end > 0 || large_rows != 0; }
};

Planted planted_in(const ExpectedTensor& tensor, const Config& config, const Plants& plants);

}  // namespace cachalot
