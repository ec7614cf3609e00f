// SPDX-License-Identifier: Apache-2.0
#include "model/scratch_bytes.h"

#include <algorithm>

#include "base/ids.h"
#include "ops/cpu_scratch.h"

namespace cachalot {
namespace {

constexpr std::int64_t f32 = sizeof(float), index = sizeof(std::int32_t), word = sizeof(std::int64_t);

class Walk {
 public:
  Walk(const Config& config, const StepShape& step)
      : c_(config),
        step_(step),
        ops_{step.threads, step.numerics == Numerics::released},
        value_(step.numerics == Numerics::released ? 2 : f32) {}

  std::int64_t peak() const { return peak_; }

  void forward() {
    begin(step_.rows, /*drafts=*/false);
    lookup(c_.dim);
    stream();
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
    begin(step_.sequences * c_.dspark_block_size, /*drafts=*/true);
    lookup(c_.dim);
    stream();
    for (std::int64_t stage = 0; stage < c_.n_mtp_layers; ++stage) block(c_.n_layers + stage);
    values(rows_, c_.dim);
    values(rows_, c_.dim);
    take(rows_ * c_.vocab_size * f32);
    run(ops_.linear(rows_, c_.dim, c_.vocab_size, /*bf16_out=*/false));
    for (int i = 0; i < 3; ++i) take(word);  // a token, its confidence, the likeliest one
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

  // StepTables, each table padded to 16 bytes.
  std::int64_t tables(bool drafts) const {
    std::int64_t bytes = 0;
    const auto add = [&](std::int64_t n) { bytes += (n + 15) / 16 * 16; };
    const std::int64_t sequences = drafts ? step_.sequences : std::min(step_.sequences, rows_);
    const StateShape shape = state_shape_of(c_);
    for (std::int64_t s = 0; s < std::ssize(shape.sources) && !drafts; ++s) {
      const std::int64_t ratio = shape.sources[static_cast<std::size_t>(s)].ratio;
      const std::int64_t groups = std::min(rows_, rows_ / ratio + sequences);
      add(groups * ratio * index);
      add(groups * word);
      add(groups * index);
      add(sequences * ceil_div(step_.positions / ratio, shape.page_groups(s)) * index);
      for (int i = 0; i < 2; ++i) add(sequences * word);
      add(rows_ * word);  // visible groups
      for (int i = 0; i < 2 && ratio > 1; ++i) add(std::min(rows_, sequences * shape.input_slots(s)) * index);
    }
    add(sequences * word);
    add(rows_ * word);  // ids
    for (int i = 0; i < 2; ++i) add(rows_ * c_.hc_mult * f32);
    add(drafts ? 0 : step_.logits * index);
    for (int set = 0; set < (step_.drops && !drafts ? 2 : 1); ++set) {  // all rows, and those left
      add(rows_ * word);                                                // positions, and so on
      add(rows_ * index);
      add(rows_);
      add(rows_ * (c_.window_size + (drafts ? c_.dspark_block_size : 0)) * index);
      for (std::size_t e = 0; e < c_.engram_layer_ids.size() && !drafts; ++e) add(rows_ * c_.engram_columns() * word);
      for (int i = 0; i < 2; ++i) add(rows_ * f32);
      add(rows_ * c_.hc_mult * f32);
      for (int i = 0; i < 2 && !drafts; ++i) add(std::min(rows_, sequences * shape.ring_slots()) * index);
      if (set == 1) add(rows_ * word * (1 + std::ssize(shape.sources)));  // who is left, and its visible groups
    }
    return bytes;
  }
  // StepTables and Pass::Pass
  void begin(std::int64_t rows, bool drafts) {
    in_use_ = 0;
    rows_ = rows;
    take(tables(drafts));
    const StateShape shape = state_shape_of(c_);
    take(shape.rings * rows_ * row_bytes(window_format, c_.head_dim));
    for (const SourceShape& source : shape.sources) take((source.ratio > 1 ? rows_ : 0) * 2 * c_.head_dim * f32);
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
      values(groups, c_.head_dim);
    }
    values(groups, c_.head_dim);
    linear(groups, c_.head_dim, c_.index_head_dim);
    values(groups, c_.index_head_dim);
    run(ops_.rope(c_.rope_head_dim));
    run(ops_.decoded_row(c_.head_dim));
  }
  void select(std::int64_t layer) {
    const std::int64_t width = c_.index_n_heads * c_.index_head_dim;
    linear(rows_, c_.q_lora_rank, width);
    take(rows_ * c_.index_n_heads * row_bytes(index_key_format, c_.index_head_dim));
    run(ops_.decoded_row(c_.index_head_dim));
    linear(rows_, c_.dim, c_.index_n_heads);
    const std::int64_t before = in_use_, n = std::min(rows_, index_tile_rows),
                       visible = step_.positions / c_.ratio(layer);
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
    values(rows_, c_.dim);
    run(ops_.expert_ffn(rows_, 1, 1, c_.dim, c_.moe_inter_dim));
    values(rows_, c_.dim);
    run(ops_.combine(top_k));
  }

  void engram() {
    const std::int64_t before = in_use_;
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
