// SPDX-License-Identifier: Apache-2.0
// Attention of a layer: which operators, in which order. Source: spec 3.
#include <fmt/format.h>

#include <cmath>

#include "model/pass.h"
#include "ops/attention/window_slots/window_slots.h"

namespace cachalot {

Values<2> Pass::attention(std::int64_t layer, const AttentionWeights& weights, Kind kind, ConstValues<2> x) {
  Arena& arena = context_.scratch;
  const Values<2> qr = norm(linear(x, weights.wq_a), weights.q_norm);
  show(layer, "attn.qr", qr);
  const Values<3> q = linear(qr, weights.wq_b).reshape<3>({rows_, c_.n_heads, c_.head_dim});
  rope(layer, q, position_);
  window_kv(layer, weights, x);

  const std::int64_t source = kind == Kind::layer ? model_.kv_source_of(layer) : -1;
  if (source >= 0) {
    if (weights.compressor && !inputs_[static_cast<std::size_t>(source)].ran) compress(layer, source, weights, x);
    if (weights.indexer) select(layer, source, weights, x, qr);
  }

  std::vector<AttentionSource> sources;
  for (const SequenceRows& s : sequences_) sources.push_back(source_of(layer, source, s));
  std::int64_t listed = c_.window_size;
  if (source >= 0) listed += c_.index_topk;
  if (kind == Kind::draft_stage) listed += c_.dspark_block_size;
  const auto slot = arena.take<std::int32_t, 2>({rows_, listed});
  list_slots(layer, kind, source >= 0, slot);
  show_slots(layer, slot);

  const Values<3> out = arena.take_values<3>(type(), q.shape());
  const float scale = 1.0f / std::sqrt(static_cast<float>(c_.head_dim));
  ops().sparse_attention(context_, {q, sources, sequence_, slot, weights.sink, scale,
                                    model_.options().numerics == Numerics::released, out});
  show(layer, "attn.sparse_out", out);
  rope(layer, out, position_, /*inverse=*/true);

  const auto z = arena.take_values<2>(type(), {rows_, weights.wo_a.out});
  ops().output_projection(context_, {out.reshape<2>({rows_, c_.n_heads * c_.head_dim}), weights.wo_a, c_.o_groups, z});
  return linear(z, weights.wo_b);
}

void Pass::window_kv(std::int64_t layer, const AttentionWeights& weights, ConstValues<2> x) {
  const Values<2> kv = norm(linear(x, weights.wkv), weights.kv_norm);
  rope(layer, kv.reshape<3>({rows_, 1, c_.head_dim}), position_);
  WindowRows& kept = window_[static_cast<std::size_t>(layer)];
  std::vector<RowSlot> to;
  for (std::int64_t r = 0; r < rows_; ++r) {
    std::uint8_t* record = kept.records[r].data();
    to.push_back({record, record + code_bytes(WindowRing::format, c_.head_dim)});
  }
  ops().encode_rows(context_, {kv, WindowRing::format, to});
  kept.ran = true;
}

AttentionSource Pass::source_of(std::int64_t layer, std::int64_t source, const SequenceRows& s) const {
  AttentionSource from{s.sequence->ring(layer), own_rows(layer, s), {}};
  if (source >= 0) from.compressed = s.sequence->compressed(source, groups_of(s, ratio_of(source)));
  return from;
}

void Pass::list_slots(std::int64_t layer, Kind kind, bool with_groups, View<std::int32_t, 2> slot) const {
  std::vector<std::int64_t> window(static_cast<std::size_t>(c_.window_size));
  for (const SequenceRows& s : sequences_) {
    const WindowPlace place{model_.state_shape().ring_slots(), s.committed};
    for (std::int64_t r = s.first; r < s.first + s.count; ++r) {
      std::int64_t n = 0;
      const auto add = [&](std::int64_t at) { slot[r][n++] = static_cast<std::int32_t>(at); };
      // A draft position sees the ring as it was left, and the whole block, itself and later ones included (spec 6).
      const bool draft = kind == Kind::draft_stage;
      window_positions(draft ? s.committed - 1 : position_[r], c_.window_size, window_start(layer, s), window);
      for (const std::int64_t p : window) {
        if (p >= 0) add(place.slot_of(p));
      }
      for (std::int64_t i = 0; draft && i < s.count; ++i) add(place.slot_of(s.committed + i));
      for (std::int64_t i = 0; with_groups && i < group_.extent(1) && group_[r][i] >= 0; ++i) {
        add(place.ring_slots + s.count + group_[r][i]);
      }
      while (n < slot.extent(1)) add(-1);
    }
  }
}

// The observer speaks of positions and groups; slots are how this pass happens to hold them.
void Pass::show_slots(std::int64_t layer, View<std::int32_t, 2> slot) {
  if (observer_ == nullptr) return;
  const Arena::Frame frame(context_.scratch);
  const auto entry = context_.scratch.take<std::int64_t, 2>(slot.shape());
  const auto translate = [&](const auto& each) {
    for (const SequenceRows& s : sequences_) {
      const WindowPlace place{model_.state_shape().ring_slots(), s.committed};
      const std::int64_t first_group = place.ring_slots + s.count;
      for (std::int64_t r = s.first; r < s.first + s.count; ++r) {
        for (std::int64_t i = 0; i < slot.extent(1); ++i) each(place, first_group, slot[r][i], entry[r][i]);
      }
    }
  };
  translate([](const WindowPlace& place, std::int64_t first_group, std::int32_t from, std::int64_t& to) {
    to = from < 0 ? -1 : from >= first_group ? listed_group(from - first_group) : place.position_of(from);
  });
  observer_->numbers(fmt::format("layers.{}.attn.topk_idxs", layer), 0, entry);
  translate([](const WindowPlace& place, std::int64_t first_group, std::int32_t& to, std::int64_t from) {
    to = static_cast<std::int32_t>(is_listed_group(from) ? first_group + group_of(from)
                                   : from < 0            ? -1
                                                         : place.slot_of(from));
  });
}

void Pass::rope(std::int64_t layer, Values<3> x, View<const std::int64_t, 1> position, bool inverse) {
  ops().rope(context_, {x, position, model_.frequencies_of(layer), inverse});
}

}  // namespace cachalot
