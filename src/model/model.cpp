// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <algorithm>

#include "base/check.h"
#include "weights/shape_places.h"

namespace cachalot {

StateShape state_shape_of(const Config& c) {
  StateShape s;
  s.rings = c.n_layers + c.n_mtp_layers;
  s.window = c.window_size;
  s.slack = slack_for(c.dspark_block_size);
  s.head_dim = c.head_dim;
  s.index_head_dim = c.index_head_dim;
  s.history = std::max<std::int64_t>(0, c.engram_max_ngram_size - 1);
  for (const std::int64_t layer : c.kv_source_layers) {
    s.sources.push_back({layer, c.ratio(layer)});
  }
  s.page_tokens = page_tokens_for(s.sources, std::max<std::int64_t>(1, c.candidate_block_size));
  return s;
}

Expected<Model> Model::load(const Config& c, std::shared_ptr<WeightPlaces> places,
                            std::vector<std::int32_t> token_class, std::int64_t classes, const ModelOptions& options) {
  if (!c.engram_layer_ids.empty()) {
    if (classes != c.engram_compressed_vocab_size) {
      return fail(Errc::format,
                  "the tokenizer has {} token classes, config.json says engram_compressed_vocab_size {}: "
                  "tokenizer.json and config.json are not of the same model",
                  classes, c.engram_compressed_vocab_size);
    }
    if (static_cast<std::int64_t>(token_class.size()) < c.vocab_size) {
      return fail(Errc::format, "the tokenizer has {} tokens, config.json says vocab_size {}", token_class.size(),
                  c.vocab_size);
    }
  }
  auto weights = bind_weights(c, std::move(places));
  if (!weights) return tl::unexpected(weights.error());
  ModelOptions opened = options;
  if (opened.backend == nullptr) opened.backend = &reference_backend();
  if (opened.memory == nullptr) {
    const auto memory = opened.backend->open(0);
    if (!memory) return tl::unexpected(memory.error());
    opened.memory = *memory;
  }
  Model model(c, std::move(*weights), opened);
  model.token_class_ = std::move(token_class);

  for (std::size_t i = 0; i < model.engram_columns_.size(); ++i) {
    const auto layer = static_cast<std::size_t>(model.config().engram_layer_ids[i]);
    check(model.weights_.layers[layer].engram->table.rows == model.engram_columns_[i].table_rows(),
          "check_config compares the rows of an Engram table with what its primes make");
  }
  return model;
}

Model Model::of_shapes(const Config& config, const ModelOptions& options) {
  auto weights = bind_weights(config, std::make_shared<ShapePlaces>(config));
  check(weights.has_value(), "a config has every tensor that its model reads");
  check(options.backend != nullptr && options.memory != nullptr, "who wants a model of shapes has opened a backend");
  return Model(config, std::move(*weights), options);
}

Model::Model(const Config& config, ModelWeights weights, const ModelOptions& options)
    : config_(config),
      weights_(std::move(weights)),
      options_(options),
      pools_(state_shape_of(config), *options.memory) {
  const Config& c = config_;
  for (std::int64_t l = 0; l < c.n_layers + c.n_mtp_layers; ++l) {
    const auto at = std::ranges::find(c.kv_source_layers, c.kv_source(l));
    kv_source_.push_back(at == c.kv_source_layers.end() ? -1 : at - c.kv_source_layers.begin());
  }
  std::vector<float> frequency = rope_frequencies(c.rope_head_dim, {.base = static_cast<float>(c.rope_theta)});
  const std::vector<float> compressed =
      rope_frequencies(c.rope_head_dim, {.base = static_cast<float>(c.compress_rope_theta),
                                         .factor = static_cast<float>(c.rope_factor),
                                         .original = static_cast<float>(c.original_seq_len),
                                         .beta_fast = static_cast<float>(c.beta_fast),
                                         .beta_slow = static_cast<float>(c.beta_slow)});
  frequency.insert(frequency.end(), compressed.begin(), compressed.end());
  const auto bytes = std::as_bytes(std::span(frequency));
  frequency_ = take_memory(memory(), std::ssize(bytes));
  memory().upload(frequency_.get(), bytes);
  if (!c.engram_layer_ids.empty()) {
    engram_columns_ = cachalot::engram_columns({.layers = c.engram_layer_ids,
                                                .vocab_size = c.engram_vocab_size,
                                                .classes = c.engram_compressed_vocab_size,
                                                .max_ngram = c.engram_max_ngram_size,
                                                .heads = c.engram_n_heads});
  }
}

ScoringFunc Model::scoring() const {
  switch (config().score_func) {
    case ScoreFunc::sqrtsoftplus:
      return ScoringFunc::sqrtsoftplus;
    case ScoreFunc::softmax:
      return ScoringFunc::softmax;
    case ScoreFunc::sigmoid:
      return ScoringFunc::sigmoid;
  }
  check(false, "a scoring function that parse_config knows");
  return ScoringFunc::sqrtsoftplus;
}

Status Model::check_token(TokenId token) const {
  if (raw(token) >= 0 && raw(token) < config().vocab_size) return {};
  return fail(Errc::range, "token {}: the vocabulary has ids 0 to {}", raw(token), config().vocab_size - 1);
}

Status Model::check_step(const Step& step) const {
  std::vector<std::int64_t> length;
  for (const Sequence* s : step.sequences) {
    check(s->pools() == pools_, "a sequence runs with the model that it was made for");
    length.push_back(s->length());
  }
  std::int32_t last = 0;
  const Row* before = nullptr;
  for (const Row& row : step.rows) {
    if (row.sequence < last || row.sequence >= static_cast<std::int32_t>(step.sequences.size())) {
      return fail(Errc::range, "a step's rows name sequence {} after {}; it has {}, and their rows stand together",
                  row.sequence, last, step.sequences.size());
    }
    last = row.sequence;
    if (row.global_only && row.wants_logits) {
      return fail(Errc::range, "a row of sequence {} is for the global state only, and wants logits: it has none",
                  row.sequence);
    }
    if (row.global_only && before != nullptr && before->sequence == row.sequence && !before->global_only) {
      return fail(Errc::range,
                  "rows of sequence {} for the global state only stand behind others: expected before them",
                  row.sequence);
    }
    before = &row;
    if (Status good = check_token(row.token); !good) return good;
    if (++length[static_cast<std::size_t>(row.sequence)] > config().max_seq_len) {
      return fail(Errc::range, "position {}: the model's context has {} positions (max_position_embeddings)",
                  length[static_cast<std::size_t>(row.sequence)] - 1, config().max_seq_len);
    }
  }
  return {};
}

}  // namespace cachalot
