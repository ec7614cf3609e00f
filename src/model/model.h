// SPDX-License-Identifier: Apache-2.0
// The text model: one forward over rows, and the draft stages behind it. Source: spec 1 to 6.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "checkpoint/config.h"
#include "kv/sequence.h"
#include "model/observer.h"
#include "ops/backend.h"
#include "ops/engram/hash/hash.h"
#include "weights/model_weights.h"

namespace cachalot {

class Pass;

enum class Numerics { released, f32 };           // spec 8
enum class IndexKeys { owner, published_slot };  // spec 10

struct ModelOptions {
  const Backend* backend = nullptr;  // null: the reference backend
  Numerics numerics = Numerics::released;
  IndexKeys index_keys = IndexKeys::owner;
  bool drafts = false;            // keep the draft stages' windows filled, so that draft() can be called
  MemorySpace* memory = nullptr;  // of the backend's, where it runs; null: of its device 0
};

// A row of a step: one token of one sequence. Prompt chunks, decode steps and drafts to check differ only in which
// rows.
struct Row {
  std::int32_t sequence = 0;  // index into Step::sequences
  TokenId token{};
  bool wants_logits = false;
  bool image = false;                // of an image span: routed by bias_vl, takes no part in n-grams
  const float* embedding = nullptr;  // [dim], instead of the token's; for image spans
  // Replay (spec 11): the row leaves the state that all later positions read, and nothing else. It runs no layer from
  // the last KV source on, but for that source's compressor and index keys, and gives those layers and the draft
  // stages no window KV. Later rows find nothing of their windows at or before it there: an approximation, which
  // Sequence::replayed() tells from then on. A model without KV sources runs it as any other.
  bool global_only = false;
};

// The rows of a sequence stand together, in order of position, its global_only ones before the others; the first is the
// position at the sequence's length().
struct Step {
  std::span<Sequence* const> sequences;
  std::span<const Row> rows;
  Observer* observer = nullptr;
  const std::function<bool()>* stopped = nullptr;  // asked before every layer; true ends the step with Errc::stopped
};

// Chooses the draft number `draft` of a sequence from its logits [vocab]; none ends that sequence's drafts.
using ChooseDraft =
    std::function<std::optional<TokenId>(std::int64_t sequence, std::int64_t draft, std::span<const float> logits)>;

// One draft block (spec 6) per sequence.
struct Drafts {
  std::int64_t block = 0;
  std::vector<TokenId> ids;       // [sequences, 1 + block]: the given token, then the drafts; -1 from where they ended
  std::vector<float> logits;      // [sequences, block, vocab]
  std::vector<float> confidence;  // [sequences, block]
};

// The sizes of a sequence's state, which follow from the config alone.
StateShape state_shape_of(const Config& config);

class Model {
 public:
  // token_class: [vocab], the Engram class of every token, of `classes` in all; unused where the model has no Engram.
  // Errors: a tensor that is missing or wrong; a number of classes other than the config's (engram.md 1).
  static Expected<Model> load(const Config& config, std::shared_ptr<WeightPlaces> places,
                              std::vector<std::int32_t> token_class, std::int64_t classes, const ModelOptions& options);
  // A model of formats and shapes alone, for a backend that reads no byte; options have it and its memory.
  static Model of_shapes(const Config& config, const ModelOptions& options);

  const Config& config() const { return config_; }
  const ModelOptions& options() const { return options_; }
  MemorySpace& memory() const { return *options_.memory; }  // where it runs: in a context of this memory
  const Backend& backend() const { return *options_.backend; }
  const StateShape& state_shape() const { return pools_.shape(); }
  const StatePools& state_pools() const { return pools_; }  // of all its sequences
  const ModelWeights& weights() const { return weights_; }
  DType activation_type() const { return options_.numerics == Numerics::released ? DType::bf16 : DType::f32; }

  // Layers from here on write no state that all later positions read, once the KV source of this number has its
  // compressor's input and index keys (spec 11): that source's layer; the number of layers where there is none.
  std::int64_t tail_layer() const {
    return state_shape().sources.empty() ? config().n_layers : state_shape().sources.back().layer;
  }
  bool has_tail() const { return tail_layer() < config().n_layers; }
  // How many positions at a prompt's end must run all layers, so that neither the next position's windows nor its
  // drafts' miss one: both look back a window.
  std::int64_t tail_rows() const { return config().window_size; }

  // The KV source whose groups a layer reads, numbered as in state_shape().sources; -1 for a window-only layer.
  std::int64_t kv_source_of(std::int64_t layer) const { return kv_source_[static_cast<std::size_t>(layer)]; }
  // The rotary table of a layer (spec 3.7): it depends on whether the layer reads compressed KV.
  View<const float, 1> frequencies_of(std::int64_t layer) const {
    return {
        reinterpret_cast<const float*>(frequency_.get()) + (kv_source_of(layer) >= 0 ? config().rope_head_dim / 2 : 0),
        {config().rope_head_dim / 2}};
  }

  ScoringFunc scoring() const;
  std::int32_t token_class(TokenId token) const {  // Engram's; 0 without one
    return token_class_.empty() ? 0 : token_class_[static_cast<std::size_t>(raw(token))];
  }
  const EngramColumns& engram_columns(std::int64_t number) const {  // in the order of engram_layer_ids
    return engram_columns_[static_cast<std::size_t>(number)];
  }

  Sequence new_sequence() const { return Sequence(pools_); }

  // Runs the rows and commits them to their sequences, which are new_sequence()'s, or shares of such. logits: [rows
  // that want them, vocab], in order of rows. A step that returns an error has changed no sequence. Errors: a token
  // outside the vocabulary, a position past the context, a step with rows out of order, logits of a global_only row;
  // those of the weights' places; Errc::memory and Errc::stopped.
  Status forward(Context& context, const Step& step, std::vector<float>& logits) const;

  // Drafts what may follow `next` (one token per sequence, chosen after its last committed position). Changes no
  // sequence. Without `choose` the draft of a position is its most likely token. Errors: a token outside the
  // vocabulary, those of the weights' places, and Errc::memory.
  Expected<Drafts> draft(Context& context, std::span<Sequence* const> sequences, std::span<const TokenId> next,
                         const ChooseDraft& choose = {}, Observer* observer = nullptr) const;

 private:
  Model(const Config& config, ModelWeights weights, const ModelOptions& options);  // with backend and memory

  Status check_token(TokenId token) const;
  Status check_step(const Step& step) const;
  Status run(Context& context, const Step& step, std::vector<float>& logits) const;
  void head(Context& context, Pass& pass, ConstValues<2> folded, std::vector<float>& logits) const;
  Expected<Drafts> draft_blocks(Context& context, std::span<Sequence* const> sequences, std::span<const TokenId> next,
                                const ChooseDraft& choose, Observer* observer) const;
  void seed_drafts(Pass& pass, ConstValues<2> main_hidden) const;

  Config config_;
  ModelWeights weights_;
  ModelOptions options_;
  StatePools pools_;
  std::vector<std::int64_t> kv_source_;        // per layer and draft stage
  HeldMemory frequency_;                       // of layers without compression, then of layers with it (spec 3.7)
  std::vector<EngramColumns> engram_columns_;  // in the order of engram_layer_ids
  std::vector<std::int32_t> token_class_;
};

}  // namespace cachalot
