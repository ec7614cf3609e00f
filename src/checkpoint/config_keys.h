// SPDX-License-Identifier: Apache-2.0
// The keys of config.json in both spellings: where each goes, what it may be, and when it must be there. For
// config.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "checkpoint/config.h"

namespace cachalot::config_keys {

enum class Need {
  always,
  drafts,
  engram,
  candidates,
  nested
};  // when a key must be there; `nested`: in that spelling only

// `nested` may be a path: "rope_scaling.factor". Most widths end at 2^20 and heads at 2^16, so that no size overflows.
struct Integer {
  const char* nested;
  const char* flat;
  std::int64_t Config::*field;
  std::int64_t least, most;
  Need need = Need::always;
};
struct Real {
  const char* nested;
  const char* flat;
  double Config::*field;
  double least;  // may be reached
};
struct List {
  const char* nested;
  const char* flat;
  std::vector<std::int64_t> Config::*field;
  std::int64_t least, most;
  Need need = Need::always;
};
struct VisionInteger {
  const char* nested;
  const char* flat;
  const char* flat_too;  // the nested name behind "vision_" is understood as well
  std::int64_t VisionConfig::*field;
  std::int64_t least, most;
};

inline constexpr std::int64_t width = 1 << 20, heads = 1 << 16, layers = 4096, tokens = 1 << 24;
inline constexpr std::int64_t rows = std::int64_t{1} << 40;
using C = Config;

inline constexpr Integer top_integers[] = {
    {"bos_token_id", "bos_token_id", &C::bos_token_id, 0, tokens, Need::nested},
    {"eos_token_id", "eos_token_id", &C::eos_token_id, 0, tokens, Need::nested},
    {"pad_token_id", "pad_token_id", &C::pad_token_id, 0, tokens, Need::nested},
};
inline constexpr Integer integers[] = {
    {"vocab_size", "vocab_size", &C::vocab_size, 1, tokens},
    {"hidden_size", "dim", &C::dim, 1, width},
    {"num_hidden_layers", "n_layers", &C::n_layers, 1, layers},
    {"num_nextn_predict_layers", "n_mtp_layers", &C::n_mtp_layers, 0, layers},
    {"max_position_embeddings", "max_seq_len", &C::max_seq_len, 1, 1 << 30},
    {"num_attention_heads", "n_heads", &C::n_heads, 1, heads},
    {"head_dim", "head_dim", &C::head_dim, 1, heads},
    {"qk_rope_head_dim", "rope_head_dim", &C::rope_head_dim, 2, heads},
    {"q_lora_rank", "q_lora_rank", &C::q_lora_rank, 1, width},
    {"o_lora_rank", "o_lora_rank", &C::o_lora_rank, 1, heads},
    {"o_groups", "o_groups", &C::o_groups, 1, heads},
    {"sliding_window", "window_size", &C::window_size, 1, width},
    {"index_n_heads", "index_n_heads", &C::index_n_heads, 1, heads},
    {"index_head_dim", "index_head_dim", &C::index_head_dim, 1, heads},
    {"index_topk", "index_topk", &C::index_topk, 1, 1 << 30},
    {"candidate_topk_blocks", "candidate_topk_blocks", &C::candidate_topk_blocks, 1, 1 << 30, Need::candidates},
    {"candidate_block_size", "candidate_block_size", &C::candidate_block_size, 1, 1 << 30, Need::candidates},
    {"rope_scaling.original_max_position_embeddings", "original_seq_len", &C::original_seq_len, 1, 1 << 30},
    {"n_routed_experts", "n_routed_experts", &C::n_routed_experts, 1, heads},
    {"num_experts_per_tok", "n_activated_experts", &C::n_activated_experts, 1, heads},
    {"moe_intermediate_size", "moe_inter_dim", &C::moe_inter_dim, 1, width},
    {"hc_mult", "hc_mult", &C::hc_mult, 1, 64},
    {"hc_sinkhorn_iters", "hc_sinkhorn_iters", &C::hc_sinkhorn_iters, 1, 1000},
    {"engram_max_ngram_size", "engram_max_ngram_size", &C::engram_max_ngram_size, 2, 16, Need::engram},
    {"engram_vocab_size", "engram_vocab_size", &C::engram_vocab_size, 2, std::int64_t{1} << 31, Need::engram},
    {"engram_n_heads", "engram_n_heads", &C::engram_n_heads, 1, 1024, Need::engram},
    {"engram_head_dim", "engram_head_dim", &C::engram_head_dim, 1, heads, Need::engram},
    {"engram_pad_token_id", "engram_pad_id", &C::engram_pad_id, 0, tokens, Need::engram},
    {"engram_compressed_vocab_size", "engram_compressed_vocab_size", &C::engram_compressed_vocab_size, 1, tokens,
     Need::engram},
    {"dspark_block_size", "dspark_block_size", &C::dspark_block_size, 1, 1024, Need::drafts},
    {"dspark_noise_token_id", "dspark_noise_token_id", &C::dspark_noise_token_id, 0, tokens, Need::drafts},
    {"dspark_markov_rank", "dspark_markov_rank", &C::dspark_markov_rank, 1, width, Need::drafts},
    {"dspark_n_routed_experts", "dspark_n_routed_experts", &C::dspark_n_routed_experts, 1, heads, Need::drafts},
    {"dspark_num_experts_per_tok", "dspark_n_activated_experts", &C::dspark_n_activated_experts, 1, heads,
     Need::drafts},
};
inline constexpr Real reals[] = {
    {"rms_norm_eps", "norm_eps", &C::norm_eps, 0},
    {"rope_theta", "rope_theta", &C::rope_theta, 1.000001},
    {"compress_rope_theta", "compress_rope_theta", &C::compress_rope_theta, 1.000001},
    {"rope_scaling.factor", "rope_factor", &C::rope_factor, 1},
    {"rope_scaling.beta_fast", "beta_fast", &C::beta_fast, 1e-6},
    {"rope_scaling.beta_slow", "beta_slow", &C::beta_slow, 1e-6},
    {"routed_scaling_factor", "route_scale", &C::route_scale, 1e-6},
    {"swiglu_limit", "swiglu_limit", &C::swiglu_limit, 0},
    {"hc_eps", "hc_eps", &C::hc_eps, 0},
};
inline constexpr List lists[] = {
    {"compress_ratios", "compress_ratios", &C::compress_ratios, 0, width},
    {"kv_source_layer_ids", "kv_source_layers", &C::kv_source_layers, 0, layers},
    {"index_source_layer_ids", "index_source_layers", &C::index_source_layers, 0, layers},
    {"engram_layer_ids", "engram_layer_ids", &C::engram_layer_ids, 0, layers},
    {"engram_num_embeddings", "engram_num_embeddings", &C::engram_num_embeddings, 1, rows, Need::engram},
    {"dspark_target_layer_ids", "dspark_target_layer_ids", &C::dspark_target_layer_ids, 0, layers, Need::drafts},
};
inline constexpr VisionInteger vision_integers[] = {
    {"num_hidden_layers", "vision_n_layers", "vision_num_hidden_layers", &VisionConfig::n_layers, 1, layers},
    {"hidden_size", "vision_dim", "vision_hidden_size", &VisionConfig::dim, 1, width},
    {"num_attention_heads", "vision_n_heads", "vision_num_attention_heads", &VisionConfig::n_heads, 1, heads},
    {"intermediate_size", "vision_inter_dim", "vision_intermediate_size", &VisionConfig::inter_dim, 1, width},
    {"patch_size", "vision_patch_size", "vision_patch_size", &VisionConfig::patch_size, 1, 1024},
    {"downsample_ratio", "vision_downsample_ratio", "vision_downsample_ratio", &VisionConfig::downsample_ratio, 1, 64},
    {"max_image_tokens", "vision_max_n_token", "vision_max_image_tokens", &VisionConfig::max_image_tokens, 1, 1 << 24},
    {"min_pixels", "vision_min_pixels", "vision_min_pixels", &VisionConfig::min_pixels, 0, 1 << 30},
};
// Keys that may hold these JSON texts only: anything else is a model this engine does not compute.
struct Fixed {
  const char* key;
  std::initializer_list<const char*> values;
};
inline const Fixed fixed_top[] = {{"expert_dtype", {"\"fp4\"", "null"}},
                                  {"quantization_config.quant_method", {"\"fp8\""}},
                                  {"quantization_config.activation_scheme", {"\"dynamic\""}},
                                  {"quantization_config.weight_block_size", {"[32,32]"}},
                                  {"quantization_config.scale_fmt", {"\"ue8m0\""}}};
inline const Fixed fixed_text[] = {{"hidden_act", {"\"silu\""}},       {"norm_topk_prob", {"true"}},
                                   {"n_shared_experts", {"1"}},        {"num_key_value_heads", {"1"}},
                                   {"attention_bias", {"false"}},      {"tie_word_embeddings", {"false"}},
                                   {"topk_method", {"\"noaux_tc\""}},  {"rope_scaling.rope_type", {"\"yarn\""}},
                                   {"rope_scaling.type", {"\"yarn\""}}};
inline const Fixed fixed_flat[] = {{"scale_fmt", {"\"ue8m0\"", "null"}}, {"expert_dtype", {"\"fp4\"", "null"}}};
// Known, and nothing here depends on them.
inline constexpr const char* ignored_top[] = {"architectures",        "torch_dtype", "dtype",
                                              "transformers_version", "auto_map",    "_name_or_path"};
inline constexpr const char* ignored_text[] = {"model_type",        "torch_dtype",       "dtype",
                                               "attention_dropout", "initializer_range", "use_cache"};
inline constexpr const char* ignored_flat[] = {"max_batch_size", "dtype", "scale_dtype"};

}  // namespace cachalot::config_keys
