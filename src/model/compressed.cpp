// SPDX-License-Identifier: Apache-2.0
// The compressed side of attention: new groups of a KV source, and which groups each row reads. Source:
// spec 3.3, 3.4, 10.
#include <algorithm>
#include <cmath>

#include "model/pass.h"

namespace cachalot {
namespace {

// Rows whose scores are held at once, so that scratch grows with the context or with the rows, never with their
// product.
constexpr std::int64_t tile_rows = 16;

}  // namespace

void Pass::compress(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x) {
  const CompressorWeights& w = *weights.compressor;
  const std::int64_t ratio = ratio_of(source);
  SourceInputs& inputs = inputs_[static_cast<std::size_t>(source)];
  inputs.ran = true;
  if (ratio == 1) return store_groups(layer, source, weights, linear(x, w.wkv));

  ops().linear(context_, {x, w.wkv, inputs.kv});
  ops().linear(context_, {x, w.wgate, inputs.score});
  std::int64_t groups = 0;
  for (const SequenceRows& s : sequences_) groups += new_groups(s, ratio);
  const auto kv = context_.scratch.take<const float*, 2>({groups, ratio});
  const auto score = context_.scratch.take<const float*, 2>({groups, ratio});
  std::int64_t g = 0;
  for (const SequenceRows& s : sequences_) {
    for (std::int64_t j = s.committed / ratio; j < groups_of(s, ratio); ++j, ++g) {
      for (std::int64_t i = 0; i < ratio; ++i) {
        const std::int64_t p = j * ratio + i;
        const std::int64_t row = s.first + p - s.committed;
        kv[g][i] = p < s.committed ? s.sequence->group_kv(source, p) : inputs.kv[row].data();
        score[g][i] = p < s.committed ? s.sequence->group_score(source, p) : inputs.score[row].data();
      }
    }
  }
  const auto pooled = context_.scratch.take_values<2>(type(), {groups, c_.head_dim});
  ops().compressor(context_, {View<const float* const, 2>(kv.data(), kv.shape()),
                              View<const float* const, 2>(score.data(), score.shape()), pooled});
  store_groups(layer, source, weights, pooled);
}

void Pass::store_groups(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, Values<2> pooled) {
  if (pooled.extent(0) == 0) return;  // no group was completed, and nothing is published (spec 10)
  const std::int64_t ratio = ratio_of(source);
  const Values<2> latent = norm(pooled, weights.compressor->norm);
  show(layer, "attn.latent", latent);

  const auto position = context_.scratch.take<std::int64_t, 1>({latent.extent(0)});
  std::vector<RowSlot> key_slots;
  std::vector<RowSlot> kv_slots;
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    const SequenceRows& s = sequences_[i];
    for (std::int64_t j = s.committed / ratio; j < groups_of(s, ratio); ++j) {
      position[static_cast<std::int64_t>(kv_slots.size())] = j * ratio;  // of the group's first token
      key_slots.push_back(s.sequence->index_key_slot(source, j));
      kv_slots.push_back(s.sequence->compressed_slot(source, j));
    }
    if (new_groups(s, ratio) > 0) published_[i] = static_cast<int>(source);
  }

  // The key comes from the latent before its rotation.
  const std::int64_t groups = latent.extent(0);
  const Values<2> key = norm(linear(latent, weights.indexer->wk), weights.indexer->k_norm);
  rope(layer, key.reshape<3>({groups, 1, c_.index_head_dim}), position);
  show(layer, "attn.indexer.k", key);
  ops().encode_rows(context_, {key, RowFormat::e2m1_e8m0_32, key_slots});
  show_encoded(layer, "attn.indexer.k_new", RowFormat::e2m1_e8m0_32, key_slots, c_.index_head_dim);

  rope(layer, latent.reshape<3>({groups, 1, c_.head_dim}), position);
  show(layer, "attn.compress_kv", latent);
  ops().encode_rows(context_, {latent, RowFormat::e2m1_e4m3_16, kv_slots});
  show_encoded(layer, "attn.compress_kv_new", RowFormat::e2m1_e4m3_16, kv_slots, c_.head_dim);
}

PagedRows Pass::index_keys(std::int64_t source, std::size_t sequence) const {
  if (model_.options().index_keys == IndexKeys::published_slot) source = published_[sequence];
  if (source < 0) return {RowFormat::e2m1_e8m0_32, c_.index_head_dim, 0, 1, {}};
  const SequenceRows& s = sequences_[sequence];
  const std::int64_t ratio = ratio_of(source);
  const bool ran = inputs_[static_cast<std::size_t>(source)].ran;
  return s.sequence->index_keys(source, ran ? groups_of(s, ratio) : s.committed / ratio);
}

void Pass::select(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x,
                  ConstValues<2> qr) {
  const IndexerWeights& w = *weights.indexer;
  const std::int64_t heads = c_.index_n_heads;
  const std::int64_t ratio = ratio_of(source);
  Arena& arena = context_.scratch;

  const Values<2> q = linear(qr, w.wq_b);
  rope(layer, q.reshape<3>({rows_, heads, c_.index_head_dim}), position_);
  show(layer, "attn.indexer.q", q);
  const PackedRows packed = encode(q.reshape<2>({rows_ * heads, c_.index_head_dim}), RowFormat::e2m1_e8m0_32);
  const Values<2> head_weight = linear(x, w.weights_proj);
  const auto weight_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c_.index_head_dim)) /
                                               std::sqrt(static_cast<double>(heads)));

  std::vector<PagedRows> keys;
  for (std::size_t i = 0; i < sequences_.size(); ++i) keys.push_back(index_keys(source, i));
  const auto visible = arena.take<std::int64_t, 1>({rows_});
  for (std::int64_t r = 0; r < rows_; ++r) visible[r] = visible_groups(position_[r], ratio);

  const bool candidate_source = layer == c_.candidate_source_layer;
  const View<const std::int32_t, 2> allowed = candidate_;  // empty up to and on the candidate source itself
  if (candidate_source) candidate_ = candidate_rows_;
  for (std::int64_t first = 0; first < rows_; first += tile_rows) {
    const Arena::Frame frame(arena);
    const std::int64_t n = std::min(tile_rows, rows_ - first);
    const View<const std::int64_t, 1> tile_visible = visible.part(first, n);
    const auto score = arena.take<float, 2>({n, std::ranges::max(tile_visible.span())});
    PackedRows tile_q = packed;
    tile_q.rows = n * heads;
    tile_q.codes += first * heads * code_bytes(packed.format, packed.width);
    tile_q.scales += first * heads * scale_bytes(packed.format, packed.width);
    ops().indexer(context_, {tile_q, head_weight.part(first, n), weight_scale, keys, sequence_.part(first, n),
                             tile_visible, score});
    if (observer_ != nullptr) show_flat(layer, "attn.indexer.score", first, Values<2>(score));
    if (candidate_source) {
      ops().candidates(context_, {score, tile_visible, c_.candidate_block_size, candidate_.part(first, n)});
      show_numbers(layer, "attn.indexer.candidates", first, candidate_.part(first, n));
    }
    ops().selection(context_,
                    {score, tile_visible, allowed.part(first, n), c_.candidate_block_size, group_.part(first, n)});
    show_numbers(layer, "attn.indexer.topk_idxs", first, group_.part(first, n));
  }
}

PackedRows Pass::encode(ConstValues<2> x, RowFormat format) {
  const std::int64_t rows = x.extent(0);
  const std::int64_t width = x.extent(1);
  const auto codes = context_.scratch.take<std::uint8_t, 2>({rows, code_bytes(format, width)});
  const auto scales = context_.scratch.take<std::uint8_t, 2>({rows, scale_bytes(format, width)});
  std::vector<RowSlot> to;
  for (std::int64_t r = 0; r < rows; ++r) to.push_back({codes[r].data(), scales[r].data()});
  ops().encode_rows(context_, {x, format, to});
  return {format, width, rows, codes.data(), scales.data()};
}

}  // namespace cachalot
