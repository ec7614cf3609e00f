// SPDX-License-Identifier: Apache-2.0
// The compressed side of attention: new groups of a KV source, and which groups each row reads. Source:
// spec 3.3, 3.4, 10.
#include <algorithm>
#include <cmath>

#include "model/pass.h"
#include "model/scratch_bytes.h"

namespace cachalot {

void Pass::compress(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x) {
  const CompressorWeights& w = *weights.compressor;
  const std::int64_t ratio = ratio_of(source);
  SourceInputs& inputs = inputs_[static_cast<std::size_t>(source)];
  inputs.ran = true;
  if (ratio == 1) return store_groups(layer, source, weights, linear(x, w.wkv));

  ops().linear(context_, {x, w.wkv, Values<2>(inputs.rows).columns(0, c_.head_dim)});
  ops().linear(context_, {x, w.wgate, Values<2>(inputs.rows).columns(c_.head_dim, c_.head_dim)});
  const SourceTables& t = tables_.source[static_cast<std::size_t>(source)];
  const auto pooled = context_.scratch.take_values<2>(type(), {t.token.extent(0), c_.head_dim});
  ops().compressor(context_, {own_inputs(source), model_.state_pools().inputs(source), tables_[t.token], pooled});
  store_groups(layer, source, weights, pooled);
}

void Pass::store_groups(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, Values<2> pooled) {
  if (pooled.extent(0) == 0) return;  // no group was completed, and nothing is published (spec 10)
  const SourceTables& t = tables_.source[static_cast<std::size_t>(source)];
  const Values<2> latent = norm(pooled, weights.compressor->norm);
  show(layer, "attn.latent", latent);
  for (std::size_t i = 0; i < published_.size(); ++i) {
    const std::int64_t sequence = static_cast<std::int64_t>(i);
    if (tables_.host(t.after)[sequence] > tables_.host(t.before)[sequence]) published_[i] = static_cast<int>(source);
  }

  // The key comes from the latent before its rotation.
  const std::int64_t groups = latent.extent(0);
  const Values<2> key = norm(linear(latent, weights.indexer->wk), weights.indexer->k_norm);
  rope(layer, key.reshape<3>({groups, 1, c_.index_head_dim}), tables_[t.position]);
  show(layer, "attn.indexer.k", key);
  const PackedRowsOut keys = model_.state_pools().index_keys(source);
  ops().encode_rows(context_, {key, keys, tables_[t.row]});
  show_encoded(layer, "attn.indexer.k_new", keys, t.row);

  rope(layer, latent.reshape<3>({groups, 1, c_.head_dim}), tables_[t.position]);
  show(layer, "attn.compress_kv", latent);
  const PackedRowsOut compressed = model_.state_pools().compressed(source);
  ops().encode_rows(context_, {latent, compressed, tables_[t.row]});
  show_encoded(layer, "attn.compress_kv_new", compressed, t.row);
}

// Whose keys the queries of a sequence meet (spec 10); -1: there are none.
std::int64_t Pass::key_source(std::int64_t source, std::size_t sequence) const {
  return model_.options().index_keys == IndexKeys::published_slot ? published_[sequence] : source;
}

PagedRows Pass::index_keys(std::int64_t source) const {
  if (source < 0) {
    const PackedRows none{index_key_format, c_.index_head_dim, 0, nullptr, nullptr};
    return {none, View<const std::int32_t, 2>(nullptr, {std::ssize(published_), 0}), tables_[tables_.no_groups]};
  }
  const SourceTables& t = tables_.source[static_cast<std::size_t>(source)];
  const bool ran = inputs_[static_cast<std::size_t>(source)].ran;
  return {model_.state_pools().index_keys(source), tables_[t.page], tables_[ran ? t.after : t.before]};
}

void Pass::select(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x,
                  ConstValues<2> qr) {
  const IndexerWeights& w = *weights.indexer;
  const std::int64_t heads = c_.index_n_heads;
  Arena& arena = context_.scratch;

  const Values<2> q = linear(qr, w.wq_b);
  rope(layer, q.reshape<3>({rows(), heads, c_.index_head_dim}), tables_[now_->position]);
  show(layer, "attn.indexer.q", q);
  const PackedRowsOut packed = encode(q.reshape<2>({rows() * heads, c_.index_head_dim}), RowFormat::e2m1_e8m0_32);
  const Values<2> head_weight = linear(x, w.weights_proj);
  const auto weight_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c_.index_head_dim)) /
                                               std::sqrt(static_cast<double>(heads)));

  const Table<std::int64_t, 1>& visible = now_->visible[static_cast<std::size_t>(source)];
  const View<const std::int32_t, 1> sequence = tables_[now_->sequence];
  const auto of_row = [&](std::int64_t r) { return static_cast<std::size_t>(tables_.host(now_->sequence)[r]); };
  const bool candidate_source = layer == c_.candidate_source_layer;
  const View<const std::int32_t, 2> allowed = candidate_;  // empty up to and on the candidate source itself
  if (candidate_source) candidate_ = candidate_rows_;
  for (std::int64_t first = 0, n = 0; first < rows(); first += n) {
    const Arena::Frame frame(arena);
    const std::int64_t keys = key_source(source, of_row(first));
    for (n = 1; n < index_tile_rows && first + n < rows() && key_source(source, of_row(first + n)) == keys;) ++n;
    const View<const std::int64_t, 1> tile_visible = tables_[visible].part(first, n);
    const auto score = arena.take<float, 2>({n, std::ranges::max(tables_.host(visible).part(first, n).span())});
    ops().indexer(context_, {packed.part(first * heads, n * heads), head_weight.part(first, n), weight_scale,
                             index_keys(keys), sequence.part(first, n), tile_visible, score});
    if (observer_ != nullptr) show_values(layer, "attn.indexer.score", first, Values<2>(score));
    if (candidate_source) {
      ops().candidates(context_, {score, tile_visible, c_.candidate_block_size, candidate_.part(first, n)});
      show_numbers(layer, "attn.indexer.candidates", first, candidate_.part(first, n));
    }
    ops().selection(context_,
                    {score, tile_visible, allowed.part(first, n), c_.candidate_block_size, group_.part(first, n)});
    show_numbers(layer, "attn.indexer.topk_idxs", first, group_.part(first, n));
  }
}

PackedRowsOut Pass::encode(ConstValues<2> x, RowFormat format) {
  const std::int64_t rows = x.extent(0), width = x.extent(1);
  auto* at = static_cast<std::uint8_t*>(context_.scratch.take_bytes(rows * row_bytes(format, width)));
  const PackedRowsOut out = packed_rows(format, width, rows, at, RowLayout::planes);
  ops().encode_rows(context_, {x, out, {}});
  return out;
}

}  // namespace cachalot
