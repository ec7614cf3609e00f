// SPDX-License-Identifier: Apache-2.0
// Attention of each row over the slots listed for it, plus a sink. Source: spec 3.5.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

// K and V are one vector everywhere. A row reads two lists, as if they were one: the window's without the -1s at its
// end, and behind it the groups'; the -1s left out come behind both.
struct SparseAttentionArgs {
  ConstValues<3> q;  // [rows, heads, head_dim], rotated
  PackedRows own;    // this step's window KV, of all sequences
  PackedRows ring;   // committed window KV, of all sequences
  View<const std::int32_t, 2>
      window;        // [rows, listed]: below own.rows a row of own, from there on of ring; -1 = nothing there
  PagedRows groups;  // compressed KV of each sequence
  View<const std::int32_t, 2>
      group;  // [rows, listed groups], of the row's sequence, -1 = nothing there; [rows, 0]: none
  View<const std::int32_t, 1> sequence;  // [rows], a sequence of groups; read only where groups are
  View<const float, 1> sink;             // [heads], natural-log units, counts in the denominator only
  float scale;                           // multiplies q · kv before the softmax
  bool round_probabilities = false;      // see Numerics
  Values<3> out;                         // [rows, heads, head_dim]; zero where a row lists nothing

  template <class S>
  void each(S&& s) {
    s.in(q, own, ring, window, groups, group, sequence, sink);
    s.out(out);
  }

  std::int64_t listed() const { return window.extent(1) + group.extent(1); }
  // The joined list of a row: -1, rows of own and ring as in `window`, and from own.rows + ring.rows on rows of the
  // groups' pool. to: [listed()].
  void join(std::int64_t row, View<std::int64_t, 1> to) const;
  struct Source {
    const PackedRows& rows;
    std::int64_t row;
  };
  Source source(std::int64_t entry) const {  // of an entry that is not -1
    if (entry < own.rows) return {own, entry};
    entry -= own.rows;
    return entry < ring.rows ? Source{ring, entry} : Source{groups.pool, entry - ring.rows};
  }
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
