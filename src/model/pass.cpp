// SPDX-License-Identifier: Apache-2.0
#include "model/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cachalot {

Pass::Pass(const Model& model, Context& context, std::vector<SequenceRows> sequences, Observer* observer)
    : model_(model),
      c_(model.config()),
      context_(context),
      observer_(observer),
      whole_(std::move(sequences)),
      sequences_(whole_),
      rows_(sequences_.empty() ? 0 : sequences_.back().first + sequences_.back().count) {
  Arena& arena = context.scratch;
  const StateShape& shape = model.state_shape();
  position_ = arena.take<std::int64_t, 1>({rows_});
  sequence_ = arena.take<std::int32_t, 1>({rows_});
  image_ = arena.take<std::uint8_t, 1>({rows_});
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    for (std::int64_t i = 0; i < sequences_[s].count; ++i) {
      const std::int64_t row = sequences_[s].first + i;
      position_[row] = sequences_[s].committed + i;
      sequence_[row] = static_cast<std::int32_t>(s);
      image_[row] = 0;
    }
    published_.push_back(sequences_[s].sequence->published_source());
  }
  for (std::int64_t l = 0; l < shape.rings; ++l) {
    window_.push_back(
        {arena.take<std::uint8_t, 2>({rows_, cachalot::row_bytes(WindowRing::format, shape.head_dim)}), false});
  }
  for (const SourceShape& s : shape.sources) {
    const std::int64_t kept = s.ratio > 1 ? rows_ : 0;
    inputs_.push_back(
        {arena.take<float, 2>({kept, shape.head_dim}), arena.take<float, 2>({kept, shape.head_dim}), false});
  }
  group_ = arena.take<std::int32_t, 2>({rows_, c_.index_topk});
  candidate_ = View<std::int32_t, 2>(nullptr, {rows_, 0});
  candidate_rows_ = arena.take<std::int32_t, 2>({rows_, c_.candidate_source_layer < 0 ? 0 : c_.candidate_topk_blocks});
}

Pass::Stream Pass::start(ConstValues<2> embedding) {
  Stream s{context_.scratch.take_values<3>(type(), {rows_, c_.hc_mult, c_.dim}),
           context_.scratch.take<float, 2>({rows_, c_.hc_mult})};
  const auto row_bytes = static_cast<std::size_t>(c_.dim * bytes_of(type()));
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = 0; c < c_.hc_mult; ++c) {
      std::memcpy(s.h[r][c].data(), embedding[r].data(), row_bytes);  // all copies start equal,
      s.mix[r][c] = c == 0 ? 1.0f : 0.0f;                             // the first is the one that is read
    }
  }
  return s;
}

void Pass::block(std::int64_t layer, const BlockWeights& weights, Kind kind, Stream& stream) {
  const Arena::Frame frame(context_.scratch);
  Arena& arena = context_.scratch;
  const auto pre = arena.take<float, 2>({rows_, c_.hc_mult});
  const auto post = arena.take<float, 2>({rows_, c_.hc_mult});
  const auto comb = arena.take<float, 3>({rows_, c_.hc_mult, c_.hc_mult});

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
  hyper_connection(stream.h, weights.hc_ffn, stream.mix, post, comb);
  show(layer, "hc_ffn.pre", stream.mix);
  const Values<2> ffn_in = norm(fold(stream.h, pre), weights.ffn_norm);
  const Values<2> ffn_out = moe(layer, weights.ffn, ffn_in);
  show(layer, "ffn.out", ffn_out);
  ops().unfold(context_, {ffn_out, stream.h, post, comb, stream.h});
  show(layer, "out", stream.h);
}

void Pass::global_state(std::int64_t layer, const BlockWeights& weights, const Stream& stream) {
  const Arena::Frame frame(context_.scratch);
  compress(layer, model_.kv_source_of(layer), weights.attn, norm(fold(stream.h, stream.mix), weights.attn_norm));
}

bool Pass::has_global_only() const {
  return std::ranges::any_of(whole_, [](const SequenceRows& s) { return s.global_only > 0; });
}

void Pass::drop_global_only(Stream& stream) {
  rows_ = 0;
  for (SequenceRows& s : sequences_) {
    s = {s.sequence, rows_, s.count - s.global_only, s.committed + s.global_only, s.global_only};
    rows_ += s.count;
  }
  position_ = kept(position_);
  sequence_ = kept(sequence_);
  image_ = kept(image_);
  candidate_ = kept(candidate_);  // group_ is chosen anew: a KV source is an index source
  stream = {kept(stream.h), kept(stream.mix)};
}

void Pass::hyper_connection(ConstValues<3> h, const HyperConnectionWeights& weights, View<float, 2> pre,
                            View<float, 2> post, View<float, 3> comb) {
  const auto mixes = context_.scratch.take<float, 2>({rows_, weights.fn.out});
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
  const Arena::Frame frame(context_.scratch);
  const auto equal = context_.scratch.take<float, 2>({rows_, c_.hc_mult});
  std::ranges::fill(View<float, 1>(equal.data(), {equal.size()}).span(), 1.0f / static_cast<float>(c_.hc_mult));
  ops().fold(context_, {h, equal, out.columns(first_column, c_.dim)});
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

Values<2> Pass::moe(std::int64_t layer, const MoeWeights& weights, ConstValues<2> x) {
  Arena& arena = context_.scratch;
  const std::int64_t top_k = c_.active_experts(layer);
  const auto expert = arena.take<std::int32_t, 2>({rows_, top_k});
  const auto weight = arena.take<float, 2>({rows_, top_k});
  ops().router(context_, {x, weights.gate, weights.bias, weights.bias_vl, image_, model_.scoring(),
                          static_cast<float>(c_.route_scale), expert, weight});
  show(layer, "ffn.gate_weights", weight);
  show_numbers(layer, "ffn.gate_indices", 0, expert);

  const auto limit = static_cast<float>(c_.swiglu_limit);
  const auto routed = arena.take_values<3>(type(), {rows_, top_k, c_.dim});
  ops().expert_ffn(context_, {x, weights.experts, expert, weight, limit, routed});

  const auto only = arena.take<std::int32_t, 2>({rows_, 1});
  const auto one = arena.take<float, 2>({rows_, 1});
  for (std::int64_t r = 0; r < rows_; ++r) {
    only[r][0] = 0;
    one[r][0] = 1.0f;
  }
  const auto shared = arena.take_values<3>(type(), {rows_, 1, c_.dim});
  ops().expert_ffn(context_, {x, {&weights.shared, 1}, only, one, limit, shared});

  const auto out = arena.take_values<2>(type(), {rows_, c_.dim});
  ops().combine(context_, {routed, expert, shared.reshape<2>({rows_, c_.dim}), out});
  return out;
}

void Pass::engram(std::int64_t layer, const EngramWeights& weights, const EngramColumns& columns,
                  View<const std::int32_t, 2> classes, Values<3> h) {
  const Arena::Frame frame(context_.scratch);
  show(layer, "engram.in", h);
  const auto id = context_.scratch.take<std::int64_t, 2>({rows_, columns.columns()});
  for (std::int64_t r = 0; r < rows_; ++r) engram_rows(columns, classes[r].span(), id[r].span());
  if (observer_ != nullptr) observer_->numbers(fmt::format("layers.{}.engram.hash_ids", layer), 0, id);
  const Values<2> embed = lookup(weights.table, id);
  show(layer, "engram.embed", embed);
  const Values<2> kv = linear(embed, weights.wkv);
  show(layer, "engram.kv", kv);
  const auto gate = context_.scratch.take<float, 2>({rows_, c_.hc_mult});
  ops().engram_gate(context_, {h, kv, weights.q_weight, weights.k_weight, eps(), image_, gate, h});
  show(layer, "engram.gate", gate);
  show(layer, "engram.out", h);
}

void Pass::commit(std::span<const std::int32_t> token_class, std::span<const std::uint8_t> dead) {
  // Whatever needs memory comes before the first sequence changes: a step is whole or leaves no trace.
  struct Kept {
    std::vector<PackedRows> window;
    std::vector<const float*> kv, score;
  };
  std::vector<Kept> kept(whole_.size());
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const SequenceRows& s = whole_[i];
    for (std::int64_t l = 0; l < std::ssize(window_); ++l) {
      kept[i].window.push_back(own_rows(l, l < model_.tail_layer() ? s : sequences_[i]));
      // A draft stage's ring stays where no drafts are wanted; so do the tail's where there is no tail.
      if (!window_[static_cast<std::size_t>(l)].ran) kept[i].window.back().rows = 0;
    }
    for (const SourceInputs& in : inputs_) {
      kept[i].kv.push_back(in.kv.empty() ? nullptr : in.kv[s.first].data());
      kept[i].score.push_back(in.score.empty() ? nullptr : in.score[s.first].data());
    }
  }
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const SequenceRows& s = whole_[i];
    const auto first = static_cast<std::size_t>(s.first);
    const auto count = static_cast<std::size_t>(s.count);
    s.sequence->commit({.rows = s.count,
                        .window = kept[i].window,
                        .group_kv = kept[i].kv,
                        .group_score = kept[i].score,
                        .token_class = token_class.subspan(first, count),
                        .dead = dead.subspan(first, count),
                        .published = published_[i],
                        .global_only = s.global_only});
  }
}

PackedRows Pass::own_rows(std::int64_t layer, const SequenceRows& s) const {
  const WindowRows& w = window_[static_cast<std::size_t>(layer)];
  return packed_rows(WindowRing::format, c_.head_dim, s.count, w.records[s.first].data(), WindowRing::layout);
}

void Pass::show_flat(std::int64_t layer, std::string_view name, std::int64_t first_row, Values<2> v) {
  if (layer < 0) return observer_->values(name, first_row, v);
  observer_->values(fmt::format("layers.{}.{}", layer, name), first_row, v);
}

void Pass::show_numbers(std::int64_t layer, std::string_view name, std::int64_t first_row, View<std::int32_t, 2> v) {
  if (observer_ == nullptr) return;
  const Arena::Frame frame(context_.scratch);
  const auto wide = context_.scratch.take<std::int64_t, 2>(v.shape());
  for (std::int64_t r = 0; r < v.extent(0); ++r) {
    for (std::int64_t i = 0; i < v.extent(1); ++i) wide[r][i] = v[r][i];
  }
  observer_->numbers(fmt::format("layers.{}.{}", layer, name), first_row, wide);
  for (std::int64_t r = 0; r < v.extent(0); ++r) {
    for (std::int64_t i = 0; i < v.extent(1); ++i) v[r][i] = static_cast<std::int32_t>(wide[r][i]);
  }
}

void Pass::show_encoded(std::int64_t layer, std::string_view name, RowFormat format, std::span<const RowSlot> rows,
                        std::int64_t width) {
  if (observer_ == nullptr) return;
  const Arena::Frame frame(context_.scratch);
  const auto decoded = context_.scratch.take<float, 2>({static_cast<std::int64_t>(rows.size()), width});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    decode_row(format, rows[i].codes, rows[i].scales, decoded[static_cast<std::int64_t>(i)].span());
  }
  show(layer, name, decoded);
}

}  // namespace cachalot
