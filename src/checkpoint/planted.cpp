// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/planted.h"

namespace cachalot {
namespace {

// The smallest group that a choice of the best top_k cuts.
std::int64_t cut_group(std::int64_t top_k) {
  std::int64_t group = 2;
  while (top_k % group == 0) ++group;
  return group;
}

Planted tie_in(const ExpectedTensor& tensor, const Config& config) {
  switch (tensor.role) {
    case TensorRole::gate:
    case TensorRole::gate_bias:
      return {.equal_rows = cut_group(config.active_experts(tensor.layer))};
    case TensorRole::head:
      return {.equal_rows = 2};
    case TensorRole::matrix:
      // All rows equal but for their signs: the key's values are equal but for theirs whatever the latent, and the norm
      // leaves nothing else of them.
      if (tensor.name.ends_with("indexer.wk.weight")) return {.equal_rows = tensor.shape[0], .odd_rows_negated = true};
      return {};
    case TensorRole::norm:
      // What RoPE turns is zero, so the group's position leaves the key as it is.
      if (tensor.name.ends_with("indexer.k_norm.weight")) return {.zeros_at_end = config.rope_head_dim};
      return {};
    default:
      return {};
  }
}

Planted clamp_in(const ExpectedTensor& tensor) {
  const bool expert = tensor.name.find(".ffn.experts.") != tensor.name.npos;
  if (!expert && tensor.name.find(".ffn.shared_experts.") == tensor.name.npos) return {};
  if (tensor.name.ends_with(".w1.scale")) return {.large_rows = 0b0011};
  if (tensor.name.ends_with(".w3.scale")) return {.large_rows = 0b0101};
  return {};
}

}  // namespace

Planted planted_in(const ExpectedTensor& tensor, const Config& config, const Plants& plants) {
  if (plants.ties) {
    if (const Planted tie = tie_in(tensor, config); tie.any()) return tie;
  }
  return plants.clamps ? clamp_in(tensor) : Planted{};
}

}  // namespace cachalot
