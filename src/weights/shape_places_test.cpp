// SPDX-License-Identifier: Apache-2.0
#include "weights/shape_places.h"

#include <gtest/gtest.h>

#include "checkpoint/released_config.h"
#include "checkpoint/test_checkpoint.h"
#include "weights/mapped_places.h"
#include "weights/model_weights.h"

namespace cachalot::shape_places_test {
namespace {

// Formats and shapes of all weights in turn, and how many have bytes.
struct Shapes {
  std::vector<std::string> list;
  int with_bytes = 0;

  void add(const Weight& w) {
    list.push_back(fmt::format("{} {} x {}", static_cast<int>(w.format), w.out, w.in));
    with_bytes += w.data != nullptr || w.scale != nullptr;
  }
  void add(const PackedRows& r) {
    list.push_back(fmt::format("rows {} {} x {}", static_cast<int>(r.format), r.rows, r.width));
    with_bytes += r.codes != nullptr || r.scales != nullptr;
  }
  template <int N>
  void add(const ConstValues<N>& v) {
    list.push_back(fmt::format("{} {} {}", name(v.type()), v.extent(0), v.extent(N - 1)));
    with_bytes += v.data() != nullptr;
  }
  void add(const View<const float, 1>& v) {
    list.push_back(fmt::format("floats {}", v.extent(0)));
    with_bytes += v.data() != nullptr;
  }
  template <class... Many>
  void all(const Many&... many) {
    (add(many), ...);
  }
  void add(const HyperConnectionWeights& h) { all(h.fn, h.base, h.scale); }
  void add(const ExpertWeights& e) { all(e.w1, e.w2, e.w3); }
  void add(const BlockWeights& b) {
    all(b.hc_attn, b.hc_ffn, b.attn_norm, b.ffn_norm);
    const AttentionWeights& a = b.attn;
    all(a.wq_a, a.wq_b, a.wkv, a.wo_a, a.wo_b, a.q_norm, a.kv_norm, a.sink);
    if (a.compressor) all(a.compressor->wkv, a.compressor->wgate, a.compressor->norm);
    if (a.indexer) all(a.indexer->wq_b, a.indexer->weights_proj, a.indexer->wk, a.indexer->k_norm);
    all(b.ffn.gate, b.ffn.bias, b.ffn.bias_vl, b.ffn.shared);
    for (const ExpertWeights& e : b.ffn.experts) add(e);
    if (b.engram) all(b.engram->table, b.engram->wkv, b.engram->q_weight, b.engram->k_weight);
  }
  explicit Shapes(const ModelWeights& w) {
    all(w.embed, w.head, w.norm);
    for (const BlockWeights& b : w.layers) add(b);
    if (!w.draft) return;
    for (const BlockWeights& b : w.draft->stages) add(b);
    all(w.draft->main_proj, w.draft->main_norm, w.draft->norm, w.draft->markov_embed, w.draft->markov_head,
        w.draft->confidence_proj);
  }
};

TEST(ShapePlaces, AConfigsWeightsAreThoseOfItsCheckpointButForTheBytes) {
  const auto checkpoint = std::make_shared<const Checkpoint>(*Checkpoint::open(mini_a()));
  const auto mapped = bind_weights(checkpoint->config(), std::make_shared<MappedPlaces>(checkpoint));
  const auto shapes = bind_weights(checkpoint->config(), std::make_shared<ShapePlaces>(checkpoint->config()));
  ASSERT_TRUE(mapped && shapes);
  const Shapes of_checkpoint(*mapped), of_config(*shapes);
  EXPECT_EQ(of_config.list, of_checkpoint.list);
  EXPECT_GT(of_checkpoint.with_bytes, 500);
  EXPECT_EQ(of_config.with_bytes, 0);
}

TEST(ShapePlaces, TheReleasedShapeIsBoundInFull) {
  const auto loaded = parse_config(released_config_text(), "released");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto weights = bind_weights(loaded->config, std::make_shared<ShapePlaces>(loaded->config));
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  EXPECT_EQ(std::ssize(weights->layers), loaded->config.n_layers);
  EXPECT_EQ(weights->layers.back().ffn.experts.back().w1.format, WeightFormat::e2m1_row32);
  EXPECT_EQ(Shapes(*weights).with_bytes, 0);
}

TEST(ShapePlaces, WithoutAVisionTowerNoBiasIsThereForIt) {
  auto loaded = parse_config(released_config_text(), "released");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto has_bias = [&] {
    const auto place = ShapePlaces(loaded->config).place("layers.0.ffn.gate.bias_vl", WeightRole::parameter);
    return place.has_value() && *place != nullptr;
  };
  EXPECT_TRUE(has_bias());
  loaded->config.vision.reset();
  EXPECT_FALSE(has_bias());
}

}  // namespace
}  // namespace cachalot::shape_places_test
