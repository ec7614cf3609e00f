// SPDX-License-Identifier: Apache-2.0
// A model's tensors, bound to the places the forward reads them from. Shapes and types were proved by the checkpoint
// room; nobody asks again. Source: spec 9.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "checkpoint/config.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"
#include "weights/weight_places.h"

namespace cachalot {

struct HyperConnectionWeights {
  Weight fn;  // [(2 + hc) · hc, hc · dim]
  View<const float, 1> base;
  View<const float, 1> scale;
};

struct CompressorWeights {
  Weight wkv;
  Weight wgate;  // only where the ratio is above 1
  ConstValues<1> norm;
};

struct IndexerWeights {
  Weight wq_b;
  Weight weights_proj;
  Weight wk;  // wk and k_norm only on KV sources
  ConstValues<1> k_norm;
};

struct AttentionWeights {
  Weight wq_a, wq_b, wkv, wo_a, wo_b;
  ConstValues<1> q_norm, kv_norm;
  View<const float, 1> sink;
  std::optional<CompressorWeights> compressor;
  std::optional<IndexerWeights> indexer;
};

struct MoeWeights {
  Weight gate;
  View<const float, 1> bias;
  View<const float, 1> bias_vl;  // empty without vision
  std::vector<ExpertWeights> experts;
  ExpertWeights shared;
};

struct EngramWeights {
  PackedRows table;
  Weight wkv;
  ConstValues<2> q_weight, k_weight;  // [hc, dim]
};

// A layer, or a draft stage.
struct BlockWeights {
  HyperConnectionWeights hc_attn, hc_ffn;
  ConstValues<1> attn_norm, ffn_norm;
  AttentionWeights attn;
  MoeWeights ffn;
  std::optional<EngramWeights> engram;
};

struct DraftWeights {
  std::vector<BlockWeights> stages;
  Weight main_proj;
  ConstValues<1> main_norm;
  ConstValues<1> norm;
  PackedRows markov_embed;
  Weight markov_head;
  Weight confidence_proj;
};

struct ModelWeights {
  std::shared_ptr<WeightPlaces> places;  // own what the others borrow
  PackedRows embed;
  Weight head;
  ConstValues<1> norm;
  std::vector<BlockWeights> layers;
  std::optional<DraftWeights> draft;
};

// Asks the places for every tensor that the forward reads. Errors: theirs; Errc::missing or Errc::format naming the
// tensor, should one not be there after all.
Expected<ModelWeights> bind_weights(const Config& config, std::shared_ptr<WeightPlaces> places);

}  // namespace cachalot
