// SPDX-License-Identifier: Apache-2.0
// The model's numbers, from config.json, proved to fit together: code after the load does not ask again. Field names
// are those of the released inference code; config.cpp's table says which key of which spelling each one comes from
// (spec 9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/json.h"

namespace cachalot {

struct VisionConfig {  // spec 12
  std::int64_t n_layers = 0;
  std::int64_t dim = 0;
  std::int64_t n_heads = 0;
  std::int64_t inter_dim = 0;  // half of the fused gate|up rows
  std::int64_t patch_size = 0;
  std::int64_t downsample_ratio = 0;
  std::int64_t max_image_tokens = 0;
  std::int64_t min_pixels = 0;
  std::optional<double> max_wh_ratio;  // empty: no limit
  double rope_theta = 0;
  double norm_eps = 1e-6;  // not in the file

  std::int64_t head_dim() const { return dim / n_heads; }
};

enum class ScoreFunc { sqrtsoftplus, softmax, sigmoid };

struct Config {
  // Spec 1.
  std::int64_t vocab_size = 0;
  std::int64_t dim = 0;
  std::int64_t n_layers = 0;
  std::int64_t n_mtp_layers =
      0;  // draft stages; layers n_layers .. n_layers + n_mtp_layers - 1 where layers are counted through
  std::int64_t max_seq_len = 0;  // most positions
  double norm_eps = 0;
  std::vector<std::int64_t> compress_ratios;                        // [n_layers + n_mtp_layers]; 0: window only
  std::vector<std::int64_t> kv_source_layers, index_source_layers;  // ascending
  std::int64_t candidate_source_layer = -1;                         // -1: none

  // Attention, spec 3.
  std::int64_t n_heads = 0, head_dim = 0, rope_head_dim = 0;
  std::int64_t q_lora_rank = 0, o_lora_rank = 0, o_groups = 0;
  std::int64_t window_size = 0;
  std::int64_t index_n_heads = 0, index_head_dim = 0, index_topk = 0;
  std::int64_t candidate_topk_blocks = 0, candidate_block_size = 0;  // 0 without a candidate source
  double rope_theta = 0, compress_rope_theta = 0;
  double rope_factor = 0, beta_fast = 0, beta_slow = 0;
  std::int64_t original_seq_len = 0;

  // Experts, spec 4.
  std::int64_t n_routed_experts = 0, n_activated_experts = 0, moe_inter_dim = 0;
  ScoreFunc score_func = ScoreFunc::sqrtsoftplus;
  double route_scale = 0, swiglu_limit = 0;

  // Hyper-connections, spec 2.
  std::int64_t hc_mult = 0, hc_sinkhorn_iters = 0;
  double hc_eps = 0;

  // Engram, spec 5: all 0 without layers, whatever the file says.
  std::vector<std::int64_t> engram_layer_ids;       // ascending
  std::vector<std::int64_t> engram_num_embeddings;  // rows of each layer's table
  std::int64_t engram_max_ngram_size = 0, engram_vocab_size = 0, engram_n_heads = 0, engram_head_dim = 0;
  std::int64_t engram_pad_id = 0, engram_compressed_vocab_size = 0;

  // Drafts, spec 6: all 0 without stages, whatever the file says.
  std::int64_t dspark_block_size = 0, dspark_noise_token_id = 0, dspark_markov_rank = 0;
  std::int64_t dspark_n_routed_experts = 0, dspark_n_activated_experts = 0;
  std::vector<std::int64_t> dspark_target_layer_ids;

  // Ids of tokens with a meaning; -1 where the file does not say (the flat spelling has none of them).
  std::int64_t bos_token_id = -1, eos_token_id = -1, pad_token_id = -1, image_token_id = -1;

  std::optional<VisionConfig> vision;

  // Roles. `layer` counts from 0 and on through the draft stages.
  std::int64_t all_layers() const { return n_layers + n_mtp_layers; }
  std::int64_t ratio(std::int64_t layer) const { return compress_ratios[static_cast<std::size_t>(layer)]; }
  bool is_kv_source(std::int64_t layer) const;
  bool is_index_source(std::int64_t layer) const;
  bool owns_index_keys(std::int64_t layer) const { return is_kv_source(layer) && is_index_source(layer); }
  std::int64_t kv_source(std::int64_t layer) const;     // nearest at or below; -1 for a window-only layer
  std::int64_t index_source(std::int64_t layer) const;  // the same
  bool uses_candidates(std::int64_t layer) const {      // an index source that scores inside candidate blocks only
    return candidate_source_layer >= 0 && layer > candidate_source_layer && is_index_source(layer);
  }
  std::int64_t engram_index(std::int64_t layer) const;  // place in engram_layer_ids; -1: no Engram before this layer
  std::int64_t experts(std::int64_t layer) const {
    return layer < n_layers ? n_routed_experts : dspark_n_routed_experts;
  }
  std::int64_t active_experts(std::int64_t layer) const {
    return layer < n_layers ? n_activated_experts : dspark_n_activated_experts;
  }
  std::int64_t engram_columns() const {
    return (engram_max_ngram_size - 1) * engram_n_heads;
  }  // rows fetched per position
  std::int64_t engram_width() const { return engram_columns() * engram_head_dim; }
};

struct LoadedConfig {
  Config config;
  bool flat = false;                      // the flat spelling of the inference code was read, not the nested one
  std::vector<std::string> unknown_keys;  // "text_config.new_key": for the caller to warn about
};

// Errors: Errc::format for what is no config, another model family, or numbers that do not fit together; Errc::missing
// names a key that is not there. `what` names the file in messages. A key with only one legal value (hidden_act,
// norm_topk_prob, n_shared_experts, …) may be absent, but not different.
Expected<LoadedConfig> parse_config(std::string_view text, std::string_view what);

// A config.json: a file of at most this many bytes, two hundred times the released one. Errors: those of
// MappedFile::open and of parse_config.
inline constexpr std::size_t most_config_bytes = 1 << 20;
Expected<LoadedConfig> load_config(const std::filesystem::path& path);

// The part of parse_config that looks at numbers only: the first that does not fit the others, its keys in the flat
// spelling.
std::optional<std::string> problem_of(const Config& config);

}  // namespace cachalot
