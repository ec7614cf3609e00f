// SPDX-License-Identifier: Apache-2.0
// Small models of random shapes, whatever a config may legally say, with random weights.
#pragma once

#include <fmt/ranges.h>

#include <random>
#include <string>
#include <vector>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"
#include "model/model.h"
#include "weights/mapped_places.h"

namespace cachalot {

class RandomShape {
 public:
  explicit RandomShape(std::uint32_t seed) : random_(seed) {}

  // A config.json in the flat spelling.
  std::string config() {
    const std::int64_t groups = from(1, 3), layers = from(1, 6), drafts = one_in(2) ? from(1, 3) : 0;
    const std::int64_t experts = from(1, 9), draft_experts = from(1, 9), vocab = from(20, 150);
    choose_roles(layers);
    set("vocab_size", vocab);
    set("dim", 32 * from(1, 4));
    set("moe_inter_dim", 32 * from(1, 3));
    set("n_layers", layers);
    set("n_heads", groups * from(1, 3));
    set("head_dim", 32 * from(1, 4));
    set("rope_head_dim", 2 * from(1, 16));
    set("q_lora_rank", 32 * from(1, 3));
    set("o_lora_rank", 32 * from(1, 2));
    set("o_groups", groups);
    set("swiglu_limit", one_in(2) ? "0" : "10.0");
    set("norm_eps", one_in(2) ? "1e-20" : "1e-6");
    set("max_seq_len", 200);
    set("rope_theta", one_in(2) ? "10000.0" : "77.5");
    set("compress_rope_theta", one_in(2) ? "160000.0" : "10000.0");
    set("rope_factor", from(1, 16));
    set("original_seq_len", from(1, 100));
    set("beta_fast", 32);
    set("beta_slow", 1);
    set("n_routed_experts", experts);
    set("n_activated_experts", from(1, experts));
    set("score_func", pick({"\"sqrtsoftplus\"", "\"softmax\"", "\"sigmoid\""}));
    set("route_scale", one_in(2) ? "1.5" : "1.0");
    set("window_size", from(1, 40));
    set("compress_ratios", fmt::format("{}", with(ratios_, static_cast<std::size_t>(layers + drafts), 0)));
    set("kv_source_layers", fmt::format("{}", kv_));
    set("index_source_layers", fmt::format("{}", index_));
    set("index_n_heads", from(1, 5));
    set("index_head_dim", 32 * from(1, 3));
    set("index_topk", one_in(3) ? 250 : from(1, 20));
    if (candidate_ >= 0) {
      set("candidate_source_layer", candidate_);
      set("candidate_topk_blocks", one_in(3) ? 100 : from(1, 6));
      set("candidate_block_size", from(1, 7));
    }
    set("hc_mult", from(1, 4));
    set("hc_sinkhorn_iters", from(1, 20));
    set("hc_eps", "1e-6");
    choose_engram(layers, vocab);
    set("n_mtp_layers", drafts);
    if (drafts > 0) {
      set("dspark_block_size", one_in(4) ? 17 : from(1, 6));
      set("dspark_noise_token_id", vocab - 1);
      set("dspark_target_layer_ids", fmt::format("{}", some_layers(layers)));
      set("dspark_markov_rank", from(1, 40));
      set("dspark_n_routed_experts", draft_experts);
      set("dspark_n_activated_experts", from(1, draft_experts));
    }
    return fmt::format("{{{}}}\n", fmt::join(members_, ", "));
  }

 private:
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return from(1, n) == 1; }
  const char* pick(const std::vector<const char*>& texts) {
    return texts[static_cast<std::size_t>(from(0, static_cast<std::int64_t>(texts.size()) - 1))];
  }
  void set(const char* key, std::string_view value) { members_.push_back(fmt::format("\"{}\": {}", key, value)); }
  void set(const char* key, std::int64_t value) { set(key, fmt::format("{}", value)); }
  static std::vector<std::int64_t> with(std::vector<std::int64_t> list, std::size_t size, std::int64_t fill) {
    list.resize(size, fill);
    return list;
  }
  std::vector<std::int64_t> some_layers(std::int64_t layers) {
    std::vector<std::int64_t> some;
    for (std::int64_t l = 0; l < layers; ++l) {
      if (one_in(3) || (some.empty() && l == layers - 1)) some.push_back(l);
    }
    return some;
  }

  // Window-only layers, sources of both kinds, and layers that read what a source below them keeps.
  void choose_roles(std::int64_t layers) {
    for (std::int64_t l = 0; l < layers; ++l) {
      const std::int64_t below = kv_.empty() ? 0 : ratios_[static_cast<std::size_t>(kv_.back())];
      const std::int64_t choice = from(0, 5);
      if (choice == 0 || (choice > 2 && below == 0)) {
        ratios_.push_back(0);
      } else if (choice <= 2) {
        // Candidates are blocks of groups: whoever uses them has the groups of their source.
        ratios_.push_back(candidate_ >= 0 ? below : from(1, 5));
        kv_.push_back(l);
        index_.push_back(l);
      } else {
        ratios_.push_back(below);
        if (choice == 3) index_.push_back(l);
      }
      if (candidate_ < 0 && !index_.empty() && index_.back() == l && one_in(4)) candidate_ = l;
    }
  }

  void choose_engram(std::int64_t layers, std::int64_t vocab) {
    if (one_in(2)) return set("engram_layer_ids", "[]");
    const EngramShape shape{.layers = some_layers(layers),
                            .vocab_size = from(2, 60),
                            .classes = from(1, vocab),
                            .max_ngram = one_in(5) ? 16 : from(2, 6),
                            .heads = from(1, 3)};
    std::vector<std::int64_t> rows;
    for (const EngramColumns& columns : engram_columns(shape)) rows.push_back(columns.table_rows());
    set("engram_layer_ids", fmt::format("{}", shape.layers));
    set("engram_num_embeddings", fmt::format("{}", rows));
    set("engram_max_ngram_size", shape.max_ngram);
    set("engram_vocab_size", shape.vocab_size);
    set("engram_n_heads", shape.heads);
    set("engram_head_dim", 32 * from(1, 2));
    set("engram_pad_id", from(0, vocab - 1));
    set("engram_compressed_vocab_size", shape.classes);
  }

  std::mt19937 random_;
  std::vector<std::string> members_;
  std::vector<std::int64_t> ratios_, kv_, index_;
  std::int64_t candidate_ = -1;
};

// A checkpoint of a random shape in a folder that goes away.
class RandomModel {
 public:
  explicit RandomModel(std::uint32_t seed) : seed_(seed), config_(RandomShape(seed).config()) {
    const auto made = make_checkpoint({.config = folder_.write("shape.json", config_),
                                       .out = folder_.path() / "model",
                                       .tokenizer = {},
                                       .seed = seed,
                                       .shards = 0,
                                       .force = false,
                                       .progress = {}});
    EXPECT_TRUE(made.has_value()) << made.error().message << "\n" << config_;
  }

  const std::string& config() const { return config_; }

  // Drafts are on wherever the model has stages.
  Expected<Model> load(const Backend& backend, Numerics numerics) const {
    auto opened = Checkpoint::open(folder_.path() / "model");
    if (!opened) return tl::unexpected(opened.error());
    const auto checkpoint = std::make_shared<const Checkpoint>(std::move(*opened));
    if (const auto unused = check_tensors(*checkpoint); !unused) return tl::unexpected(unused.error());
    const Config& c = checkpoint->config();
    const std::int64_t classes = c.engram_compressed_vocab_size;
    const bool drafts = c.n_mtp_layers > 0;
    std::vector<std::int32_t> class_of;
    for (std::int64_t token = 0; classes > 0 && token < c.vocab_size; ++token) {
      class_of.push_back(static_cast<std::int32_t>((token * 7 + seed_) % classes));
    }
    return Model::load(c, std::make_shared<MappedPlaces>(checkpoint), std::move(class_of), classes,
                       {.backend = &backend, .numerics = numerics, .drafts = drafts});
  }

 private:
  std::uint32_t seed_;
  std::string config_;
  TestFolder folder_;
};

}  // namespace cachalot
