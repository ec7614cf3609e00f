// SPDX-License-Identifier: Apache-2.0
// Finds the one rounding that took a head's attention output from the golden one. In `released` numerics a query's
// elements and the probabilities are rounded to bf16 (spec 3.5, 8), and nothing shows them: where one lies on a tie,
// another order of summation rounds it the other way, and all of the head's outputs move a little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kv/sequence.h"
#include "model/model.h"

namespace cachalot {

// One row of a layer's attention, with the golden inputs it was fed.
struct AttentionRow {
  const Model& model;
  const Sequence& sequence;  // after the forward: rows of it that the list names are read from here
  std::int64_t layer;
  std::int64_t position;
  std::span<const float> qr;           // [q_lora_rank]
  std::span<const std::int64_t> list;  // positions and groups (model/observer.h)
};

// Which rounding, taken the other way, turns the head's own output into the golden one; nothing where no single
// rounding next to a tie does, or where the list names positions the rings no longer hold. got, want: [head_dim].
std::optional<std::string> find_attention_flip(const AttentionRow& row, std::int64_t head, std::span<const float> got,
                                               std::span<const float> want);

}  // namespace cachalot
