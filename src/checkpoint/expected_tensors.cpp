// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/expected_tensors.h"

#include <array>

#include "base/ids.h"

namespace cachalot {
namespace {

constexpr std::array unquantized = {DType::bf16, DType::f32};
constexpr std::array narrow_types = {DType::bf16, DType::f16, DType::f32};
constexpr std::array wide_types = {DType::f32, DType::f16, DType::bf16};  // released as f32
constexpr std::array e4m3_only = {DType::e4m3};
constexpr std::array scale_types = {DType::e8m0, DType::u8};
constexpr std::array fp4_types = {DType::i8, DType::u8};

using Shape = std::vector<std::int64_t>;

class Table {
 public:
  explicit Table(const Config& config) : c_(config) {}

  std::vector<ExpectedTensor> take() {
    in(Part::embedding, -1);
    add("embed.weight", {c_.vocab_size, c_.dim}, TensorRole::embedding);
    for (std::int64_t layer = 0; layer < c_.all_layers(); ++layer) {
      block(layer < c_.n_layers ? fmt::format("layers.{}.", layer) : fmt::format("mtp.{}.", layer - c_.n_layers),
            layer);
    }
    in(Part::embedding, -1);
    add("norm.weight", {c_.dim}, TensorRole::norm);
    add("head.weight", {c_.vocab_size, c_.dim}, TensorRole::head);
    if (c_.vision) vision(*c_.vision);
    return std::move(tensors_);
  }

 private:
  void in(Part part, std::int64_t layer) {
    part_ = layer >= c_.n_layers ? Part::drafts : part;
    layer_ = layer;
  }
  void add(std::string name, Shape shape, TensorRole role, bool required = true) {
    tensors_.push_back({std::move(name), std::move(shape), role, part_, layer_, required});
  }
  void fp8(const std::string& name, std::int64_t out, std::int64_t width) {
    add(name + ".weight", {out, width}, TensorRole::fp8);
    add(name + ".scale", {ceil_div<std::int64_t>(out, 32), ceil_div<std::int64_t>(width, 32)}, TensorRole::fp8_scale);
  }
  void fp4(const std::string& name, std::int64_t out, std::int64_t width) {
    add(name + ".weight", {out, width / 2}, TensorRole::fp4);
    add(name + ".scale", {out, width / 32}, TensorRole::fp4_scale);
  }

  void block(const std::string& at, std::int64_t layer) {
    if (c_.engram_index(layer) >= 0) engram(at + "engram.", layer);
    hyper_connections(at + "hc_attn_", layer);
    attention(at, layer);
    hyper_connections(at + "hc_ffn_", layer);
    experts(at, layer);
    if (layer >= c_.n_layers) draft(at, layer - c_.n_layers);
  }

  void hyper_connections(const std::string& at, std::int64_t layer) {
    const std::int64_t rows = (2 + c_.hc_mult) * c_.hc_mult;
    in(Part::hyper_connections, layer);
    add(at + "fn", {rows, c_.hc_mult * c_.dim}, TensorRole::hc_matrix);
    add(at + "base", {rows}, TensorRole::hc_base);
    add(at + "scale", {3}, TensorRole::hc_scale);
  }

  void attention(const std::string& at, std::int64_t layer) {
    in(Part::attention, layer);
    const std::string a = at + "attn.";
    add(at + "attn_norm.weight", {c_.dim}, TensorRole::norm);
    fp8(a + "wq_a", c_.q_lora_rank, c_.dim);
    add(a + "q_norm.weight", {c_.q_lora_rank}, TensorRole::norm);
    fp8(a + "wq_b", c_.n_heads * c_.head_dim, c_.q_lora_rank);
    fp8(a + "wkv", c_.head_dim, c_.dim);
    add(a + "kv_norm.weight", {c_.head_dim}, TensorRole::norm);
    add(a + "attn_sink", {c_.n_heads}, TensorRole::sink);
    fp8(a + "wo_a", c_.o_groups * c_.o_lora_rank, c_.n_heads / c_.o_groups * c_.head_dim);
    fp8(a + "wo_b", c_.dim, c_.o_groups * c_.o_lora_rank);
    if (c_.is_kv_source(layer)) {
      add(a + "compressor.wkv.weight", {c_.head_dim, c_.dim}, TensorRole::matrix);
      if (c_.ratio(layer) > 1) add(a + "compressor.wgate.weight", {c_.head_dim, c_.dim}, TensorRole::matrix);
      add(a + "compressor.norm.weight", {c_.head_dim}, TensorRole::norm);
    }
    in(Part::indexer, layer);
    if (c_.is_index_source(layer)) {
      fp8(a + "indexer.wq_b", c_.index_n_heads * c_.index_head_dim, c_.q_lora_rank);
      add(a + "indexer.weights_proj.weight", {c_.index_n_heads, c_.dim}, TensorRole::matrix);
    }
    if (c_.owns_index_keys(layer)) {
      add(a + "indexer.wk.weight", {c_.index_head_dim, c_.head_dim}, TensorRole::matrix);
      add(a + "indexer.k_norm.weight", {c_.index_head_dim}, TensorRole::norm);
    }
  }

  void experts(const std::string& at, std::int64_t layer) {
    const std::int64_t count = c_.experts(layer), inter = c_.moe_inter_dim;
    in(Part::router, layer);
    add(at + "ffn_norm.weight", {c_.dim}, TensorRole::norm);
    add(at + "ffn.gate.weight", {count, c_.dim}, TensorRole::gate);
    add(at + "ffn.gate.bias", {count}, TensorRole::gate_bias);
    add(at + "ffn.gate.bias_vl", {count}, TensorRole::gate_bias, c_.vision.has_value());
    in(Part::experts, layer);
    for (std::int64_t e = 0; e < count; ++e) {
      const std::string expert = fmt::format("{}ffn.experts.{}.", at, e);
      fp4(expert + "w1", inter, c_.dim);
      fp4(expert + "w2", c_.dim, inter);
      fp4(expert + "w3", inter, c_.dim);
    }
    in(Part::shared_expert, layer);
    fp8(at + "ffn.shared_experts.w1", inter, c_.dim);
    fp8(at + "ffn.shared_experts.w2", c_.dim, inter);
    fp8(at + "ffn.shared_experts.w3", inter, c_.dim);
  }

  void engram(const std::string& at, std::int64_t layer) {
    const std::int64_t rows = c_.engram_num_embeddings[static_cast<std::size_t>(c_.engram_index(layer))];
    in(Part::engram, layer);
    add(at + "embed.weight", {rows, c_.engram_head_dim}, TensorRole::fp8_rows);
    add(at + "embed.scale", {rows, c_.engram_head_dim / 32}, TensorRole::fp8_rows_scale);
    fp8(at + "wkv", (c_.hc_mult + 1) * c_.dim, c_.engram_width());
    add(at + "q_weight", {c_.hc_mult, c_.dim}, TensorRole::norm);
    add(at + "k_weight", {c_.hc_mult, c_.dim}, TensorRole::norm);
  }

  void draft(const std::string& at, std::int64_t stage) {
    in(Part::drafts, c_.n_layers + stage);
    if (stage == 0) {
      fp8(at + "main_proj", c_.dim, static_cast<std::int64_t>(c_.dspark_target_layer_ids.size()) * c_.dim);
      add(at + "main_norm.weight", {c_.dim}, TensorRole::norm);
    }
    if (stage == c_.n_mtp_layers - 1) {
      add(at + "norm.weight", {c_.dim}, TensorRole::norm);
      add(at + "markov_head.embed.weight", {c_.vocab_size, c_.dspark_markov_rank}, TensorRole::embedding);
      add(at + "markov_head.head.weight", {c_.vocab_size, c_.dspark_markov_rank}, TensorRole::head);
      add(at + "confidence_head.proj.weight", {1, c_.dim + c_.dspark_markov_rank}, TensorRole::matrix);
    }
  }

  void vision(const VisionConfig& v) {
    in(Part::vision, -1);
    const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t width, bool bias) {
      add(name + ".weight", {out, width}, TensorRole::matrix);
      if (bias) add(name + ".bias", {out}, TensorRole::bias);
    };
    linear("vision.patch_embed.proj", v.dim, 3 * v.patch_size * v.patch_size, true);
    for (std::int64_t i = 0; i < v.n_layers; ++i) {
      const std::string at = fmt::format("vision.blocks.{}.", i);
      add(at + "norm1.weight", {v.dim}, TensorRole::norm);
      linear(at + "attn.wqkv", 3 * v.dim, v.dim, true);
      linear(at + "attn.wo", v.dim, v.dim, true);
      add(at + "norm2.weight", {v.dim}, TensorRole::norm);
      linear(at + "mlp.w1", 2 * v.inter_dim, v.dim, false);
      linear(at + "mlp.w2", v.dim, v.inter_dim, false);
    }
    add("vision.norm.weight", {v.dim}, TensorRole::norm);
    linear("aligner.w1", c_.dim, v.downsample_ratio * v.downsample_ratio * v.dim, true);
    linear("aligner.w2", c_.dim, c_.dim, true);
    for (const char* name : {"image_start", "image_end", "image_newline"}) add(name, {c_.dim}, TensorRole::embedding);
  }

  const Config& c_;
  std::vector<ExpectedTensor> tensors_;
  Part part_ = Part::embedding;
  std::int64_t layer_ = -1;
};

}  // namespace

std::span<const DType> accepted_dtypes(TensorRole role) {
  switch (role) {
    case TensorRole::matrix:
    case TensorRole::embedding:
    case TensorRole::head:
    case TensorRole::bias:
      return unquantized;
    case TensorRole::norm:
    case TensorRole::gate:
      return narrow_types;
    case TensorRole::gate_bias:
    case TensorRole::sink:
    case TensorRole::hc_matrix:
    case TensorRole::hc_base:
    case TensorRole::hc_scale:
      return wide_types;
    case TensorRole::fp8:
    case TensorRole::fp8_rows:
      return e4m3_only;
    case TensorRole::fp4:
      return fp4_types;
    case TensorRole::fp8_scale:
    case TensorRole::fp4_scale:
    case TensorRole::fp8_rows_scale:
      return scale_types;
  }
  return {};
}

const char* name(Part part) {
  constexpr std::array<const char*, part_count> names = {"embedding and head",
                                                         "attention",
                                                         "indexer",
                                                         "hyper-connections",
                                                         "router",
                                                         "routed experts",
                                                         "shared experts",
                                                         "engram",
                                                         "drafts",
                                                         "vision"};
  return names[static_cast<std::size_t>(part)];
}

std::int64_t ExpectedTensor::bytes() const {
  std::int64_t all = bytes_of(dtype());
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

std::vector<ExpectedTensor> expected_tensors(const Config& config) { return Table(config).take(); }

}  // namespace cachalot
