// SPDX-License-Identifier: Apache-2.0
// Attention of a layer: which operators, in which order. Source: spec 3.
#include <cmath>

#include "model/pass.h"

namespace cachalot {

Values<2> Pass::attention(std::int64_t layer, const AttentionWeights& weights, Kind kind, ConstValues<2> x) {
  Arena& arena = context_.scratch;
  const Values<2> qr = norm(linear(x, weights.wq_a), weights.q_norm);
  show(layer, "attn.qr", qr);
  const Values<3> q = linear(qr, weights.wq_b).reshape<3>({rows(), c_.n_heads, c_.head_dim});
  rope(layer, q, tables_[now_->position]);
  window_kv(layer, weights, x);

  const std::int64_t source = kind == Kind::layer ? model_.kv_source_of(layer) : -1;
  if (source >= 0) {
    if (weights.compressor && !inputs_[static_cast<std::size_t>(source)].ran) compress(layer, source, weights, x);
    if (weights.indexer) select(layer, source, weights, x, qr);
  }

  // Groups that the step completes are there by now.
  const bool tail = layer >= model_.tail_layer();
  const auto& window = tail ? now_->tail_window : now_->window;
  const auto group = source >= 0 ? group_ : View<std::int32_t, 2>(nullptr, {rows(), 0});
  const Lists lists = show_lists(layer, window, group);
  PagedRows groups;
  if (source >= 0) {
    const SourceTables& t = tables_.source[static_cast<std::size_t>(source)];
    groups = {model_.state_pools().compressed(source), tables_[t.page], tables_[t.after]};
  }
  const Values<3> out = arena.take_values<3>(type(), q.shape());
  const float scale = 1.0f / std::sqrt(static_cast<float>(c_.head_dim));
  ops().sparse_attention(context_, {.q = q,
                                    .own = own_rows(layer),
                                    .ring = model_.state_pools().rings(layer),
                                    .window = lists.window,
                                    .groups = groups,
                                    .group = lists.group,
                                    .sequence = tables_[now_->sequence],
                                    .sink = weights.sink,
                                    .scale = scale,
                                    .round_probabilities = model_.options().numerics == Numerics::released,
                                    .out = out});
  show(layer, "attn.sparse_out", out);
  rope(layer, out, tables_[now_->position], /*inverse=*/true);

  const auto z = arena.take_values<2>(type(), {rows(), weights.wo_a.out});
  ops().output_projection(context_, {out.reshape<2>({rows(), c_.n_heads * c_.head_dim}), weights.wo_a, c_.o_groups, z});
  return linear(z, weights.wo_b);
}

void Pass::window_kv(std::int64_t layer, const AttentionWeights& weights, ConstValues<2> x) {
  const Values<2> kv = norm(linear(x, weights.wkv), weights.kv_norm);
  rope(layer, kv.reshape<3>({rows(), 1, c_.head_dim}), tables_[now_->position]);
  ops().encode_rows(context_, {kv, own_rows(layer), {}});
  window_ran_[static_cast<std::size_t>(layer)] = 1;
}

void Pass::rope(std::int64_t layer, Values<3> x, View<const std::int64_t, 1> position, bool inverse) {
  ops().rope(context_, {x, position, model_.frequencies_of(layer), inverse});
}

}  // namespace cachalot
