// SPDX-License-Identifier: Apache-2.0
#include "model/pass.h"

#include <algorithm>

namespace cachalot {

Pass::Pass(const Model& model, Context& context, const StepTables& tables, Observer* observer)
    : model_(model),
      c_(model.config()),
      context_(context),
      observer_(observer),
      tables_(tables),
      now_(&tables.all),
      window_ran_(static_cast<std::size_t>(model.state_shape().rings)) {
  Arena& arena = context.scratch;
  const StateShape& shape = model.state_shape();
  window_ =
      static_cast<std::uint8_t*>(arena.take_bytes(shape.rings * rows() * row_bytes(window_format, shape.head_dim)));
  for (const SequenceRows& s : now_->sequences) published_.push_back(s.sequence->published_source());
  for (const SourceShape& s : shape.sources) {
    inputs_.push_back({arena.take<float, 2>({s.ratio > 1 ? rows() : 0, 2 * shape.head_dim}), false});
  }
  group_ = arena.take<std::int32_t, 2>({rows(), c_.index_topk});
  candidate_ = View<std::int32_t, 2>(nullptr, {rows(), 0});
  candidate_rows_ = arena.take<std::int32_t, 2>({rows(), c_.candidate_source_layer < 0 ? 0 : c_.candidate_topk_blocks});
}

Values<2> Pass::embed(const PackedRows& table) {
  const std::int64_t given = tables_.given.extent(0);
  if (given == 0) return lookup(table, tables_[tables_.id]);
  const auto all = context_.scratch.take_values<2>(type(), {rows() + given, c_.dim});
  const View<const float, 2> own = tables_[tables_.given];
  const PackedRows rows_given{RowFormat::f32, c_.dim, given, reinterpret_cast<const std::uint8_t*>(own.data()),
                              nullptr};
  ops().lookup(context_, {table, tables_[tables_.id], all.part(0, rows())});
  ops().lookup(context_, {rows_given, tables_[tables_.given_id], all.part(rows(), given)});
  const auto embedding = context_.scratch.take_values<2>(type(), {rows(), c_.dim});
  ops().take_rows(context_, {bytes_of_rows(all), tables_[tables_.with_given], bytes_of_rows(embedding)});
  return embedding;
}

Pass::Stream Pass::start(ConstValues<2> embedding) {
  Stream s{context_.scratch.take_values<3>(type(), {rows(), c_.hc_mult, c_.dim}), tables_[tables_.first_mix],
           context_.scratch.take<float, 2>({rows(), c_.hc_mult})};
  // All copies start equal.
  ops().take_rows(context_, {bytes_of_rows(embedding), tables_[tables_.copies],
                             bytes_of_rows(s.h.reshape<2>({rows() * c_.hc_mult, c_.dim}))});
  return s;
}

Status Pass::block(std::int64_t layer, const BlockWeights& weights, Kind kind, Stream& stream) {
  const Arena::Frame frame(context_.scratch);
  Arena& arena = context_.scratch;
  const auto pre = arena.take<float, 2>({rows(), c_.hc_mult});
  const auto post = arena.take<float, 2>({rows(), c_.hc_mult});
  const auto comb = arena.take<float, 3>({rows(), c_.hc_mult, c_.hc_mult});

  hyper_connection(stream.h, weights.hc_attn, pre, post, comb);
  show(layer, "hc_attn.pre", pre);
  show(layer, "hc_attn.post", post);
  show(layer, "hc_attn.comb", comb);
  const Values<2> attn_in = norm(fold(stream.h, stream.mix), weights.attn_norm);
  show(layer, "attn.in", attn_in);
  const Values<2> attn_out = attention(layer, weights.attn, kind, attn_in);
  show(layer, "attn.out", attn_out);
  ops().unfold(context_, {attn_out, stream.h, post, comb, stream.h});
  show(layer, "mid", stream.h);

  // The FFN is folded by the attention's pre; its own pre goes to the next layer.
  hyper_connection(stream.h, weights.hc_ffn, stream.next_mix, post, comb);
  stream.mix = stream.next_mix;
  show(layer, "hc_ffn.pre", stream.next_mix);
  const Values<2> ffn_in = norm(fold(stream.h, pre), weights.ffn_norm);
  const Expected<Values<2>> ffn_out = moe(layer, weights.ffn, ffn_in);
  if (!ffn_out) return tl::unexpected(ffn_out.error());
  show(layer, "ffn.out", *ffn_out);
  ops().unfold(context_, {*ffn_out, stream.h, post, comb, stream.h});
  show(layer, "out", stream.h);
  return {};
}

void Pass::global_state(std::int64_t layer, const BlockWeights& weights, const Stream& stream) {
  const Arena::Frame frame(context_.scratch);
  compress(layer, model_.kv_source_of(layer), weights.attn, norm(fold(stream.h, stream.mix), weights.attn_norm));
}

void Pass::drop_global_only(Stream& stream) {
  if (stream.mix.data() == stream.next_mix.data()) {
    kept(stream.next_mix);
  } else {
    ops().take_rows(context_, {bytes_of_rows(stream.mix), tables_[tables_.kept],
                               bytes_of_rows(stream.next_mix.part(0, tables_.tail.rows))});
  }
  now_ = &tables_.tail;
  group_ = group_.part(0, rows());  // chosen anew: a KV source is an index source
  candidate_ = candidate_.extent(1) == 0 ? View<std::int32_t, 2>(nullptr, {rows(), 0}) : kept(candidate_);
  stream.h = kept(stream.h);
  stream.mix = stream.next_mix = stream.next_mix.part(0, rows());
}

void Pass::hyper_connection(ConstValues<3> h, const HyperConnectionWeights& weights, View<float, 2> pre,
                            View<float, 2> post, View<float, 3> comb) {
  const auto mixes = context_.scratch.take<float, 2>({rows(), weights.fn.out});
  ops().mix(context_, {h, weights.fn, eps(), mixes});
  ops().sinkhorn(context_, {mixes, weights.base, weights.scale, static_cast<int>(c_.hc_sinkhorn_iters),
                            static_cast<float>(c_.hc_eps), pre, post, comb});
}

Values<2> Pass::fold(ConstValues<3> h, View<const float, 2> mix) {
  const auto out = context_.scratch.take_values<2>(type(), {h.extent(0), h.extent(2)});
  ops().fold(context_, {h, mix, out});
  return out;
}

void Pass::mean_copies(ConstValues<3> h, Values<2> out, std::int64_t first_column) {
  ops().fold(context_, {h, tables_[now_->equal_mix], out.columns(first_column, c_.dim)});
}

Values<2> Pass::norm(ConstValues<2> x, ConstValues<1> weight) {
  const auto out = context_.scratch.take_values<2>(type(), x.shape());
  ops().rms_norm(context_, {x, weight, eps(), out});
  return out;
}

Values<2> Pass::linear(ConstValues<2> x, const Weight& weight) {
  const auto out = context_.scratch.take_values<2>(type(), {x.extent(0), weight.out});
  ops().linear(context_, {x, weight, out});
  return out;
}

View<float, 2> Pass::linear_f32(ConstValues<2> x, const Weight& weight) {
  const auto out = context_.scratch.take<float, 2>({x.extent(0), weight.out});
  ops().linear(context_, {x, weight, out});
  return out;
}

Values<2> Pass::lookup(const PackedRows& table, View<const std::int64_t, 2> id) {
  const auto out = context_.scratch.take_values<2>(type(), {id.extent(0), id.extent(1) * table.width});
  ops().lookup(context_, {table, id, out});
  return out;
}

Expected<Values<2>> Pass::moe(std::int64_t layer, const MoeWeights& weights, ConstValues<2> x) {
  Arena& arena = context_.scratch;
  const std::int64_t top_k = c_.active_experts(layer);
  const auto expert = arena.take<std::int32_t, 2>({rows(), top_k});
  const auto weight = arena.take<float, 2>({rows(), top_k});
  ops().router(context_, {x, weights.gate, weights.bias, weights.bias_vl, tables_[now_->image], model_.scoring(),
                          static_cast<float>(c_.route_scale), expert, weight});
  show(layer, "ffn.gate_weights", weight);
  show_numbers(layer, "ffn.gate_indices", 0, expert);

  const Expected<ExpertLease> leased = lease_experts(layer, weights, expert);
  if (!leased) return tl::unexpected(leased.error());
  const auto limit = static_cast<float>(c_.swiglu_limit);
  const auto routed = arena.take_values<3>(type(), {rows(), top_k, c_.dim});
  ops().expert_ffn(context_, {x, leased->experts, expert, weight, limit, routed});

  const auto shared = arena.take_values<3>(type(), {rows(), 1, c_.dim});
  ops().expert_ffn(
      context_, {x, {&weights.shared, 1}, tables_[now_->shared_expert], tables_[now_->shared_weight], limit, shared});

  const auto out = arena.take_values<2>(type(), {rows(), c_.dim});
  ops().combine(context_, {routed, expert, shared.reshape<2>({rows(), c_.dim}), out});
  return out;
}

Status Pass::engram(std::int64_t layer, const EngramWeights& weights, Values<3> h) {
  const Arena::Frame frame(context_.scratch);
  show(layer, "engram.in", h);
  const Table<std::int64_t, 2>& rows_of_table = now_->engram_id[static_cast<std::size_t>(c_.engram_index(layer))];
  const View<const std::int64_t, 2> id = show_ids(layer, rows_of_table);
  const Expected<RowLease> leased = lease_rows(layer, weights, rows_of_table, id);
  if (!leased) return tl::unexpected(leased.error());
  const Values<2> embed = lookup(leased->table, id);
  show(layer, "engram.embed", embed);
  const Values<2> kv = linear(embed, weights.wkv);
  show(layer, "engram.kv", kv);
  const auto gate = context_.scratch.take<float, 2>({rows(), c_.hc_mult});
  ops().engram_gate(context_, {h, kv, weights.q_weight, weights.k_weight, eps(), tables_[now_->image], gate, h});
  show(layer, "engram.gate", gate);
  show(layer, "engram.out", h);
  return {};
}

void Pass::commit() {
  // Layers that ran stand side by side: all, but for draft stages where no drafts are wanted, and for the tail where
  // there is none.
  const auto rings = [&](std::int64_t first, std::int64_t end, const Moves& moves) {
    while (end > first && window_ran_[static_cast<std::size_t>(end - 1)] == 0) --end;
    if (end == first) return;
    const PackedRowsOut from = own_rows(first);
    ops().commit_rows(context_,
                      {from, model_.state_pools().rings(first), tables_[moves.row], tables_[moves.place], end - first,
                       from.rows * row_bytes(from.format, from.width), model_.state_shape().ring_bytes()});
  };
  const std::int64_t tail = std::min(model_.tail_layer(), model_.state_shape().rings);
  rings(0, tail, tables_.ring);
  rings(tail, model_.state_shape().rings, tables_.tail_ring);
  for (std::int64_t i = 0; i < std::ssize(inputs_); ++i) {
    if (ratio_of(i) == 1) continue;
    const Moves& moves = tables_.inputs[static_cast<std::size_t>(i)];
    ops().commit_rows(context_,
                      {own_inputs(i), model_.state_pools().inputs(i), tables_[moves.row], tables_[moves.place]});
  }
  const auto& sequences = tables_.all.sequences;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const SequenceRows& s = sequences[i];
    const auto first = static_cast<std::size_t>(s.first), count = static_cast<std::size_t>(s.count);
    s.sequence->commit({.rows = s.count,
                        .token_class = std::span(tables_.token_class).subspan(first, count),
                        .dead = std::span(tables_.dead).subspan(first, count),
                        .published = published_[i],
                        .global_only = s.global_only});
  }
}

PackedRowsOut Pass::own_rows(std::int64_t layer) const {
  const std::int64_t bytes = tables_.all.rows * row_bytes(window_format, c_.head_dim);
  return packed_rows(window_format, c_.head_dim, tables_.all.rows, window_ + layer * bytes, window_layout);
}

PackedRows Pass::own_inputs(std::int64_t source) const {
  const View<float, 2> rows = inputs_[static_cast<std::size_t>(source)].rows;
  return packed_rows(RowFormat::f32, rows.extent(1), rows.extent(0), reinterpret_cast<const std::uint8_t*>(rows.data()),
                     RowLayout::records);
}

}  // namespace cachalot
