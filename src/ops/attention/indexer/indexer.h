// SPDX-License-Identifier: Apache-2.0
// Scores of every visible group for every row: Σ over heads of weight · relu(q · key). Source: spec 3.4.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

// The visibility rule: the query at `position` sees group j of `ratio` tokens when the group is complete by then,
// j < ⌊(position + 1) / ratio⌋. So this is also how many groups it sees.
constexpr std::int64_t visible_groups(std::int64_t position, std::int64_t ratio) { return (position + 1) / ratio; }

struct IndexerArgs {
  PackedRows q;           // [rows · heads, index_head_dim], rotated, e2m1 + ue8m0 per 32 (other formats are legal)
  ConstValues<2> weight;  // [rows, heads]
  float weight_scale;     // index_head_dim^-½ · heads^-½, multiplies each weight in f32
  PagedRows keys;  // of each sequence: [groups, index_head_dim]; a visible group that has no key counts as a zero key
  View<const std::int32_t, 1> sequence;  // [rows], a sequence of keys
  View<const std::int64_t, 1> visible;   // [rows]
  View<float, 2> score;                  // [rows, groups], -inf from visible on; groups >= every visible

  template <class S>
  void each(S&& s) {
    s.in(q, weight, keys, sequence, visible);
    s.out(score);
  }
};

// Numerics: f32 in both modes (spec 8): a dot summed in double and rounded; products and sum over heads f32, ascending.
void indexer_ref(Context& context, const IndexerArgs& args);
// Numerics: f32; a dot is one sum, k ascending by fused multiply-add (released codes mostly make it exact, in any
// order); products and sum over heads as above, so that exact dots give the reference's bits.
void indexer_cpu(Context& context, const IndexerArgs& args);

}  // namespace cachalot
