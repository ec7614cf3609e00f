// SPDX-License-Identifier: Apache-2.0
#include "model/scratch_bytes.h"

#include <algorithm>

#include "base/ids.h"
#include "ops/cpu_scratch.h"

namespace cachalot {
namespace {

constexpr std::int64_t f32 = sizeof(float), index = sizeof(std::int32_t), word = sizeof(std::int64_t);

// Rows whose index scores are held at once; as in compressed.cpp.
constexpr std::int64_t tile_rows = 16;

class Walk {
 public:
  Walk(const Config& config, const StepShape& step)
      : c_(config),
        step_(step),
        ops_{step.threads, step.numerics == Numerics::released},
        value_(step.numerics == Numerics::released ? 2 : f32) {}

  std::int64_t peak() const { return peak_; }

  void forward() {
    begin(step_.rows);
    take(rows_ * word);  // token ids
    lookup(c_.dim);
    stream();
    if (!c_.engram_layer_ids.empty()) take(rows_ * c_.engram_max_ngram_size * index);
    const std::int64_t targets = step_.drafts ? static_cast<std::int64_t>(c_.dspark_target_layer_ids.size()) : 0;
    values(rows_, targets * c_.dim);
    for (std::int64_t layer = 0; layer < c_.n_layers; ++layer) {
      if (c_.engram_index(layer) >= 0) engram();
      block(layer);
    }
    if (targets > 0 && c_.n_mtp_layers > 0) {
      linear(rows_, targets * c_.dim, c_.dim);
      values(rows_, c_.dim);
      for (std::int64_t stage = 0; stage < c_.n_mtp_layers; ++stage) window_kv();
    }
    values(rows_, c_.dim);                               // the folded copies
    values(step_.logits, c_.dim);                        // of the rows that want logits,
    if (step_.logits > 0) values(step_.logits, c_.dim);  // and their norm
    run(ops_.linear(step_.logits, c_.dim, c_.vocab_size, /*bf16_out=*/false));
  }

  void draft() {
    begin(step_.sequences * c_.dspark_block_size);
    take(rows_ * word);
    lookup(c_.dim);
    stream();
    for (std::int64_t stage = 0; stage < c_.n_mtp_layers; ++stage) block(c_.n_layers + stage);
    values(rows_, c_.dim);
    values(rows_, c_.dim);
    take(rows_ * c_.vocab_size * f32);
    run(ops_.linear(rows_, c_.dim, c_.vocab_size, /*bf16_out=*/false));
    for (std::int64_t r = 0; r < rows_; ++r) {
      values(1, c_.dspark_markov_rank);
      run(ops_.markov_head(c_.dspark_markov_rank, c_.vocab_size));
      run(ops_.confidence_head(c_.dim, c_.dspark_markov_rank));
    }
  }

 private:
  void take(std::int64_t bytes) {
    in_use_ += arena_bytes(bytes);
    peak_ = std::max(peak_, in_use_);
  }
  void values(std::int64_t rows, std::int64_t width) { take(rows * width * value_); }
  // An operator's own, given back when it returns.
  void run(std::int64_t bytes) { peak_ = std::max(peak_, in_use_ + bytes); }

  void linear(std::int64_t rows, std::int64_t in, std::int64_t out) {
    values(rows, out);
    run(ops_.linear(rows, in, out, ops_.bf16));
  }
  void lookup(std::int64_t width, std::int64_t columns = 1) {
    values(rows_, columns * width);
    run(ops_.decoded_row(width));
  }

  // Pass::Pass
  void begin(std::int64_t rows) {
    in_use_ = 0;
    rows_ = rows;
    take(rows_ * word);
    take(rows_ * index);
    take(rows_);
    const StateShape shape = state_shape_of(c_);
    for (std::int64_t ring = 0; ring < shape.rings; ++ring) {
      take(rows_ * row_bytes(WindowRing::format, c_.head_dim));
    }
    for (const SourceShape& source : shape.sources) {
      for (int i = 0; source.ratio > 1 && i < 2; ++i) take(rows_ * c_.head_dim * f32);
    }
    take(rows_ * c_.index_topk * index);
    take(rows_ * (c_.candidate_source_layer < 0 ? 0 : c_.candidate_topk_blocks) * index);
  }
  void stream() {
    values(rows_, c_.hc_mult * c_.dim);
    take(rows_ * c_.hc_mult * f32);
  }

  void block(std::int64_t layer) {
    const std::int64_t before = in_use_;
    take(rows_ * c_.hc_mult * f32);
    take(rows_ * c_.hc_mult * f32);
    take(rows_ * c_.hc_mult * c_.hc_mult * f32);
    hyper_connection();
    values(rows_, c_.dim);
    values(rows_, c_.dim);
    attention(layer);
    run(ops_.unfold(c_.hc_mult));
    hyper_connection();
    values(rows_, c_.dim);
    values(rows_, c_.dim);
    moe(layer);
    run(ops_.unfold(c_.hc_mult));
    in_use_ = before;
  }
  void hyper_connection() {
    take(rows_ * (2 + c_.hc_mult) * c_.hc_mult * f32);
    run(ops_.mix(rows_, c_.hc_mult * c_.dim));
    run(ops_.sinkhorn(c_.hc_mult));
  }

  void attention(std::int64_t layer) {
    const std::int64_t wide = c_.n_heads * c_.head_dim;
    linear(rows_, c_.dim, c_.q_lora_rank);
    values(rows_, c_.q_lora_rank);
    linear(rows_, c_.q_lora_rank, wide);
    run(ops_.rope(c_.rope_head_dim));
    window_kv();
    const bool stage = layer >= c_.n_layers;
    const bool groups = !stage && c_.kv_source(layer) >= 0;
    if (groups && c_.is_kv_source(layer)) compress(c_.ratio(layer));
    if (groups && c_.is_index_source(layer)) select(layer);
    const std::int64_t listed = c_.window_size + (groups ? c_.index_topk : 0) + (stage ? c_.dspark_block_size : 0);
    take(rows_ * listed * index);
    values(rows_, wide);
    run(ops_.sparse_attention(rows_, c_.n_heads, c_.head_dim, listed));
    values(rows_, c_.o_groups * c_.o_lora_rank);
    run(ops_.output_projection(rows_, wide / c_.o_groups, c_.o_lora_rank));
    linear(rows_, c_.o_groups * c_.o_lora_rank, c_.dim);
  }
  void window_kv() {
    linear(rows_, c_.dim, c_.head_dim);
    values(rows_, c_.head_dim);
    run(ops_.decoded_row(c_.head_dim));
  }
  void compress(std::int64_t ratio) {
    const std::int64_t groups = std::min(rows_, rows_ / ratio + step_.sequences);
    if (ratio == 1) {
      linear(rows_, c_.dim, c_.head_dim);
    } else {
      run(ops_.linear(rows_, c_.dim, c_.head_dim, /*bf16_out=*/false));
      take(groups * ratio * static_cast<std::int64_t>(sizeof(void*)));
      take(groups * ratio * static_cast<std::int64_t>(sizeof(void*)));
      values(groups, c_.head_dim);
    }
    values(groups, c_.head_dim);
    take(groups * word);
    linear(groups, c_.head_dim, c_.index_head_dim);
    values(groups, c_.index_head_dim);
    run(ops_.rope(c_.rope_head_dim));
    run(ops_.decoded_row(c_.head_dim));
  }
  void select(std::int64_t layer) {
    const std::int64_t width = c_.index_n_heads * c_.index_head_dim;
    linear(rows_, c_.q_lora_rank, width);
    take(rows_ * c_.index_n_heads * code_bytes(Sequence::index_key_format, c_.index_head_dim));
    take(rows_ * c_.index_n_heads * scale_bytes(Sequence::index_key_format, c_.index_head_dim));
    run(ops_.decoded_row(c_.index_head_dim));
    linear(rows_, c_.dim, c_.index_n_heads);
    take(rows_ * word);
    const std::int64_t before = in_use_, n = std::min(rows_, tile_rows), visible = step_.positions / c_.ratio(layer);
    take(n * visible * f32);
    run(ops_.indexer(n, c_.index_n_heads, c_.index_head_dim));
    run(ops_.top_k(n, c_.index_topk, visible));
    if (layer == c_.candidate_source_layer)
      run(ops_.top_k(n, c_.candidate_topk_blocks - 1, ceil_div(visible, c_.candidate_block_size)));
    in_use_ = before;
  }

  void moe(std::int64_t layer) {
    const std::int64_t top_k = c_.active_experts(layer);
    take(rows_ * top_k * index);
    take(rows_ * top_k * f32);
    run(ops_.router(rows_, c_.dim, c_.experts(layer)));
    values(rows_, top_k * c_.dim);
    run(ops_.expert_ffn(rows_, top_k, c_.experts(layer), c_.dim, c_.moe_inter_dim));
    take(rows_ * index);
    take(rows_ * f32);
    values(rows_, c_.dim);
    run(ops_.expert_ffn(rows_, 1, 1, c_.dim, c_.moe_inter_dim));
    values(rows_, c_.dim);
    run(ops_.combine(top_k));
  }

  void engram() {
    const std::int64_t before = in_use_;
    take(rows_ * c_.engram_columns() * word);
    lookup(c_.engram_head_dim, c_.engram_columns());
    linear(rows_, c_.engram_width(), (c_.hc_mult + 1) * c_.dim);
    take(rows_ * c_.hc_mult * f32);
    in_use_ = before;
  }

  const Config& c_;
  const StepShape& step_;
  CpuScratch ops_;
  std::int64_t value_;  // bytes of an activation
  std::int64_t rows_ = 0;
  std::int64_t in_use_ = 0, peak_ = 0;
};

}  // namespace

std::int64_t scratch_bytes(const Config& config, const StepShape& step) {
  Walk walk(config, step);
  walk.forward();
  if (step.drafts && config.n_mtp_layers > 0) walk.draft();
  return walk.peak();
}

}  // namespace cachalot
