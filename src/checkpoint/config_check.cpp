// SPDX-License-Identifier: Apache-2.0
// Do the numbers of a config fit together?
#include <algorithm>
#include <numeric>
#include <span>

#include "base/primes.h"
#include "checkpoint/config.h"

namespace cachalot {
namespace {

// Each tests one idea; the first that fails is the answer.
using Problem = std::optional<std::string>;

Problem divides(const char* name, std::int64_t value, std::int64_t by, const char* why) {
  if (value % by == 0) return std::nullopt;
  return fmt::format("{} is {}, expected a multiple of {}: {}", name, value, by, why);
}

Problem ascending(const char* name, std::span<const std::int64_t> list, std::int64_t below) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] >= below) return fmt::format("{} names layer {}, but there are {}", name, list[i], below);
    if (i > 0 && list[i] <= list[i - 1])
      return fmt::format("{} must ascend, but {} comes after {}", name, list[i], list[i - 1]);
  }
  return std::nullopt;
}

Problem inside(const char* name, std::int64_t id, std::int64_t vocab) {
  if (id < vocab) return std::nullopt;
  return fmt::format("{} is {}, outside the vocabulary of {}", name, id, vocab);
}

// fp8 activations, fp8 and fp4 weights come in groups of 32 along the summed axis, and a group is never cut (spec 7).
Problem widths(const Config& c) {
  const struct {
    const char* name;
    std::int64_t value;
    const char* why;
  } groups_of_32[] = {{"dim", c.dim, "inputs of linears are quantized in groups of 32"},
                      {"q_lora_rank", c.q_lora_rank, "inputs of linears are quantized in groups of 32"},
                      {"head_dim", c.head_dim, "window KV has one scale per 32"},
                      {"o_lora_rank", c.o_lora_rank, "each group of wo_a owns whole 32 x 32 blocks"},
                      {"moe_inter_dim", c.moe_inter_dim, "inputs of linears are quantized in groups of 32"},
                      {"index_head_dim", c.index_head_dim, "index keys have one scale per 32"},
                      {"engram_head_dim", c.engram_head_dim, "table rows have one scale per 32"}};
  for (const auto& group : groups_of_32) {
    if (auto problem = divides(group.name, group.value, 32, group.why)) return problem;
  }
  if (auto problem = divides("n_heads", c.n_heads, c.o_groups, "each of the o_groups has whole heads")) return problem;
  if (auto problem = divides("rope_head_dim", c.rope_head_dim, 2, "RoPE turns pairs")) return problem;
  if (c.rope_head_dim > std::min(c.head_dim, c.index_head_dim)) {
    return fmt::format("rope_head_dim {} is more than head_dim {} or index_head_dim {}", c.rope_head_dim, c.head_dim,
                       c.index_head_dim);
  }
  return std::nullopt;
}

Problem sources(const Config& c) {
  const auto all = static_cast<std::size_t>(c.all_layers());
  if (c.compress_ratios.size() != all) {
    return fmt::format("compress_ratios has {} entries, expected {} ({} layers and {} draft stages)",
                       c.compress_ratios.size(), all, c.n_layers, c.n_mtp_layers);
  }
  for (std::int64_t layer = c.n_layers; layer < c.all_layers(); ++layer) {
    if (c.ratio(layer) != 0)
      return fmt::format("compress_ratios of draft stage {} is {}, expected 0", layer - c.n_layers, c.ratio(layer));
  }
  if (auto problem = ascending("kv_source_layers", c.kv_source_layers, c.n_layers)) return problem;
  if (auto problem = ascending("index_source_layers", c.index_source_layers, c.n_layers)) return problem;
  for (const std::int64_t layer : c.kv_source_layers) {
    if (c.ratio(layer) == 0) return fmt::format("layer {} is a KV source, but its compress_ratio is 0", layer);
  }
  for (const std::int64_t layer : c.index_source_layers) {
    if (c.ratio(layer) == 0) return fmt::format("layer {} is an index source, but its compress_ratio is 0", layer);
  }
  for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
    if (c.ratio(layer) == 0) continue;
    const std::pair<const char*, std::int64_t> needed[] = {{"KV", c.kv_source(layer)},
                                                           {"index", c.index_source(layer)}};
    for (const auto& [kind, source] : needed) {
      if (source < 0)
        return fmt::format("layer {} has compress_ratio {}, but no {} source at or below it", layer, c.ratio(layer),
                           kind);
      if (c.ratio(source) != c.ratio(layer)) {
        return fmt::format("layer {} has compress_ratio {}, but its {} source, layer {}, has {}", layer, c.ratio(layer),
                           kind, source, c.ratio(source));
      }
    }
  }
  // Index keys are made of a latent, by the indexer that lives beside its compressor.
  for (const std::int64_t layer : c.kv_source_layers) {
    if (!c.is_index_source(layer)) return fmt::format("layer {} is a KV source, but no index source", layer);
  }
  if (c.candidate_source_layer >= 0) {
    if (!c.is_index_source(c.candidate_source_layer)) {
      return fmt::format("candidate_source_layer {} is no index source", c.candidate_source_layer);
    }
    for (const std::int64_t layer : c.index_source_layers) {
      if (c.uses_candidates(layer) && c.ratio(layer) != c.ratio(c.candidate_source_layer)) {
        return fmt::format("index source {} has compress_ratio {}, but the candidate source, layer {}, has {}", layer,
                           c.ratio(layer), c.candidate_source_layer, c.ratio(c.candidate_source_layer));
      }
    }
  }
  return std::nullopt;
}

// State comes in pages that hold whole groups and whole candidate blocks of every source.
Problem pages(const Config& c) {
  constexpr std::int64_t most = 1 << 20;
  std::int64_t tokens = 1;
  for (const std::int64_t layer : c.kv_source_layers) {
    const std::int64_t block = c.ratio(layer) * std::max<std::int64_t>(1, c.candidate_block_size);
    if (block <= most) tokens = std::lcm(tokens, block);
    if (block > most || tokens > most) {
      return fmt::format("compress_ratios and candidate_block_size {} need pages of more than {} tokens at layer {}",
                         c.candidate_block_size, most, layer);
    }
  }
  return std::nullopt;
}

Problem experts(const Config& c) {
  if (c.n_activated_experts > c.n_routed_experts) {
    return fmt::format("n_activated_experts {} of only {} experts", c.n_activated_experts, c.n_routed_experts);
  }
  if (c.n_mtp_layers > 0 && c.dspark_n_activated_experts > c.dspark_n_routed_experts) {
    return fmt::format("dspark_n_activated_experts {} of only {} experts", c.dspark_n_activated_experts,
                       c.dspark_n_routed_experts);
  }
  return std::nullopt;
}

Problem engram(const Config& c) {
  if (c.engram_layer_ids.empty()) return std::nullopt;
  if (auto problem = ascending("engram_layer_ids", c.engram_layer_ids, c.n_layers)) return problem;
  if (c.engram_num_embeddings.size() != c.engram_layer_ids.size()) {
    return fmt::format("engram_num_embeddings has {} entries for {} layers", c.engram_num_embeddings.size(),
                       c.engram_layer_ids.size());
  }
  // Each column of a table has a prime number of rows: all columns together walk once through the primes from
  // engram_vocab_size on (spec/engram.md, 2).
  constexpr std::int64_t most_columns = 4096;  // a number that a file says must not keep us searching for primes
  const std::int64_t columns = c.engram_columns() * std::ssize(c.engram_layer_ids);
  if (columns > most_columns) {
    return fmt::format("{} Engram layers of {} columns are more than {} columns in all", c.engram_layer_ids.size(),
                       c.engram_columns(), most_columns);
  }
  auto prime = static_cast<std::uint64_t>(c.engram_vocab_size) - 1;
  for (std::size_t i = 0; i < c.engram_layer_ids.size(); ++i) {
    std::int64_t rows = 0;
    for (std::int64_t column = 0; column < c.engram_columns(); ++column) {
      prime = prime_above(prime);
      rows += static_cast<std::int64_t>(prime);
    }
    if (c.engram_num_embeddings[i] != rows) {
      return fmt::format("engram_num_embeddings of layer {} is {}, but {} columns from engram_vocab_size {} on make {}",
                         c.engram_layer_ids[i], c.engram_num_embeddings[i], c.engram_columns(), c.engram_vocab_size,
                         rows);
    }
  }
  return inside("engram_pad_id", c.engram_pad_id, c.vocab_size);
}

Problem drafts(const Config& c) {
  if (c.n_mtp_layers == 0) return std::nullopt;
  if (c.dspark_target_layer_ids.empty()) return "dspark_target_layer_ids is empty, but there are draft stages";
  if (auto problem = ascending("dspark_target_layer_ids", c.dspark_target_layer_ids, c.n_layers)) return problem;
  return inside("dspark_noise_token_id", c.dspark_noise_token_id, c.vocab_size);
}

Problem vision(const Config& c) {
  if (!c.vision) return std::nullopt;
  const VisionConfig& v = *c.vision;
  if (auto problem = divides("vision_dim", v.dim, v.n_heads, "heads are equal")) return problem;
  return divides("vision head_dim", v.head_dim(), 4, "two axes turn pairs");
}

Problem ids(const Config& c) {
  const std::pair<const char*, std::int64_t> tokens[] = {{"bos_token_id", c.bos_token_id},
                                                         {"eos_token_id", c.eos_token_id},
                                                         {"pad_token_id", c.pad_token_id},
                                                         {"image_token_id", c.image_token_id}};
  for (const auto& [name, id] : tokens) {
    if (auto problem = inside(name, id, c.vocab_size)) return problem;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> problem_of(const Config& config) {
  for (const auto rule : {widths, sources, pages, experts, engram, drafts, vision, ids}) {
    if (Problem problem = rule(config)) return problem;
  }
  return std::nullopt;
}

}  // namespace cachalot
