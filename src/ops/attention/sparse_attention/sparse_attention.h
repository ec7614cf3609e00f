// SPDX-License-Identifier: Apache-2.0
// Attention of each row over the slots listed for it, plus a sink. Source: spec 3.5.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

// What the rows of one sequence may read. Slots count through the three in order: ring, own, then compressed groups.
struct AttentionSource {
  PackedRows ring;       // committed window KV, [ring slots, head_dim]
  PackedRows own;        // this step's window KV, [rows of the sequence, head_dim]
  PagedRows compressed;  // [groups, head_dim]; K and V are one vector everywhere

  std::int64_t first_group_slot() const { return ring.rows + own.rows; }
};

struct SparseAttentionArgs {
  ConstValues<3> q;                         // [rows, heads, head_dim], rotated
  std::span<const AttentionSource> source;  // per sequence
  View<const std::int32_t, 1> sequence;     // [rows], index into source
  View<const std::int32_t, 2> slot;         // [rows, listed], read in the order given; -1 = nothing there
  View<const float, 1> sink;                // [heads], natural-log units, counts in the denominator only
  float scale;                              // multiplies q · kv before the softmax
  bool round_probabilities = false;         // see Numerics
  Values<3> out;                            // [rows, heads, head_dim]; zero where a row lists nothing
};

// Numerics: the list is taken in blocks of 64 entries (-1 entries count), each relative to the maximum so far; a
// block's sums in double, then f32, blocks ascending; e^x rounded to f32. With round_probabilities (the `released`
// numerics) the probabilities are rounded to bf16 for the value product while the denominator sums them unrounded, as
// the published kernel does; without, the whole list is one block. One rounding at the store.
void sparse_attention_ref(Context& context, const SparseAttentionArgs& args);
// Numerics: f32 and blocks of 64 always. A score sums head_dim in 16 lanes and one tree (device/cpu/simd-inl.h); e^x is
// good to an ulp; a block's probabilities sum in 16 lanes and one tree, its values entry by entry with fused
// multiply-adds; then earlier sums · shrink + the block's. round_probabilities as above.
void sparse_attention_cpu(Context& context, const SparseAttentionArgs& args);

}  // namespace cachalot
