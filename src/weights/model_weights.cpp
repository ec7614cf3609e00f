// SPDX-License-Identifier: Apache-2.0
#include "weights/model_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace cachalot {
namespace {

// Asks for tensors and turns them into what operators read. Nothing is asked for after the first error. The checkpoint
// room has looked at all tensors before: one that is missing means that the two rooms disagree.
class Binder {
 public:
  Binder(const Config& config, WeightPlaces& places) : c_(config), places_(places) {}

  const std::optional<Error>& error() const { return error_; }

  Weight weight(const std::string& name, WeightRole role = WeightRole::dense) {
    return matrix(name + ".weight", name + ".scale", role);
  }
  ConstValues<1> vector(const std::string& name) {
    const TensorInfo* t = norm(name);
    return t == nullptr ? ConstValues<1>() : ConstValues<1>(t->data, *t->dtype, {elements(*t)});
  }
  ConstValues<2> table(const std::string& name) {
    const TensorInfo* t = norm(name);
    return t == nullptr ? ConstValues<2>() : ConstValues<2>(t->data, *t->dtype, {t->shape[0], t->shape[1]});
  }
  View<const float, 1> floats(const std::string& name) {
    const TensorInfo* t = parameter(name);
    return t == nullptr ? View<const float, 1>() : view(*t);
  }
  View<const float, 1> floats_if_there(const std::string& name) {
    const TensorInfo* t = ask(name, WeightRole::parameter, {DType::f32});
    return t == nullptr ? View<const float, 1>() : view(*t);
  }
  // Rows that are looked up by number: plain, or fp8 with a scale per 32 of a row.
  PackedRows rows(const std::string& name, WeightRole role) {
    const TensorInfo* t = find(name + ".weight", role, {DType::bf16, DType::f32, DType::e4m3});
    if (t == nullptr) return {};
    PackedRows r{RowFormat::bf16, t->shape[1], t->shape[0], as<std::uint8_t>(*t), nullptr};
    if (*t->dtype == DType::f32) r.format = RowFormat::f32;
    if (*t->dtype == DType::e4m3) {
      r.format = RowFormat::e4m3_e8m0_32;
      if (const TensorInfo* s = find(name + ".scale", role, {DType::e8m0, DType::u8})) r.scales = as<std::uint8_t>(*s);
    }
    return r;
  }

  BlockWeights block(const std::string& p, std::int64_t layer);
  EngramWeights engram(const std::string& p) {
    return {rows(p + ".embed", WeightRole::engram_table), weight(p + ".wkv"), table(p + ".q_weight"),
            table(p + ".k_weight")};
  }

 private:
  template <class T>
  static const T* as(const TensorInfo& t) {
    return reinterpret_cast<const T*>(t.data);
  }
  static std::int64_t elements(const TensorInfo& t) {
    std::int64_t n = 1;
    for (std::int64_t s : t.shape) n *= s;
    return n;
  }
  static View<const float, 1> view(const TensorInfo& t) { return {as<float>(t), {elements(t)}}; }
  // Null where there is no such tensor, and once there was an error.
  const TensorInfo* ask(const std::string& name, WeightRole role, std::initializer_list<DType> types) {
    if (error_) return nullptr;
    const auto t = places_.place(name, role);
    if (!t) {
      error_ = t.error();
      return nullptr;
    }
    if (*t == nullptr || ((*t)->dtype && std::ranges::find(types, *(*t)->dtype) != types.end())) return *t;
    error_ = unreadable_type(**t);
    return nullptr;
  }
  const TensorInfo* find(const std::string& name, WeightRole role, std::initializer_list<DType> types) {
    const TensorInfo* t = ask(name, role, types);
    if (t == nullptr && !error_) error_ = Error{Errc::missing, fmt::format("{}: no such tensor", name)};
    return t;
  }
  const TensorInfo* norm(const std::string& name) { return find(name, WeightRole::norm, {DType::bf16, DType::f32}); }
  const TensorInfo* parameter(const std::string& name) { return find(name, WeightRole::parameter, {DType::f32}); }
  Weight matrix(const std::string& name, const std::string& scale, WeightRole role) {
    const TensorInfo* t = find(name, role, {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::i8, DType::u8});
    if (t == nullptr) return {};
    Weight w{WeightFormat::bf16, t->shape[0], t->shape[1], t->data, nullptr};
    switch (*t->dtype) {
      case DType::f32:
        w.format = WeightFormat::f32;
        break;
      case DType::f16:
        w.format = WeightFormat::f16;
        break;
      case DType::e4m3:
        w.format = WeightFormat::e4m3_block32;
        break;
      case DType::i8:
      case DType::u8:
        w.format = WeightFormat::e2m1_row32;
        w.in *= 2;
        break;
      default:
        break;
    }
    if (w.quantized()) {
      if (const TensorInfo* s = find(scale, role, {DType::e8m0, DType::u8})) w.scale = as<std::uint8_t>(*s);
    }
    return w;
  }
  HyperConnectionWeights hyper_connection(const std::string& p) {
    Weight fn;
    if (const TensorInfo* t = parameter(p + "_fn"))
      fn = Weight{WeightFormat::f32, t->shape[0], t->shape[1], t->data, nullptr};
    return {fn, floats(p + "_base"), floats(p + "_scale")};
  }
  ExpertWeights expert(const std::string& p, WeightRole role) {
    return {weight(p + ".w1", role), weight(p + ".w2", role), weight(p + ".w3", role)};
  }

  const Config& c_;
  WeightPlaces& places_;
  std::optional<Error> error_;
};

BlockWeights Binder::block(const std::string& p, std::int64_t layer) {
  BlockWeights b;
  b.hc_attn = hyper_connection(p + ".hc_attn");
  b.hc_ffn = hyper_connection(p + ".hc_ffn");
  b.attn_norm = vector(p + ".attn_norm.weight");
  b.ffn_norm = vector(p + ".ffn_norm.weight");

  const std::string a = p + ".attn";
  b.attn.wq_a = weight(a + ".wq_a");
  b.attn.wq_b = weight(a + ".wq_b");
  b.attn.wkv = weight(a + ".wkv");
  b.attn.wo_a = weight(a + ".wo_a");
  b.attn.wo_b = weight(a + ".wo_b");
  b.attn.q_norm = vector(a + ".q_norm.weight");
  b.attn.kv_norm = vector(a + ".kv_norm.weight");
  b.attn.sink = floats(a + ".attn_sink");
  if (c_.is_kv_source(layer)) {
    const std::string k = a + ".compressor";
    b.attn.compressor = CompressorWeights{weight(k + ".wkv"), {}, vector(k + ".norm.weight")};
    if (c_.ratio(layer) > 1) b.attn.compressor->wgate = weight(k + ".wgate");
  }
  if (c_.is_index_source(layer)) {
    const std::string i = a + ".indexer";
    b.attn.indexer = IndexerWeights{weight(i + ".wq_b"), weight(i + ".weights_proj"), {}, {}};
    if (c_.owns_index_keys(layer)) {
      b.attn.indexer->wk = weight(i + ".wk");
      b.attn.indexer->k_norm = vector(i + ".k_norm.weight");
    }
  }

  const std::string f = p + ".ffn";
  b.ffn.gate = weight(f + ".gate");
  b.ffn.bias = floats(f + ".gate.bias");
  b.ffn.bias_vl = floats_if_there(f + ".gate.bias_vl");
  for (std::int64_t e = 0; e < c_.experts(layer); ++e)
    b.ffn.experts.push_back(expert(fmt::format("{}.experts.{}", f, e), WeightRole::expert));
  b.ffn.shared = expert(f + ".shared_experts", WeightRole::dense);
  return b;
}

}  // namespace

Expected<ModelWeights> bind_weights(const Config& c, std::shared_ptr<WeightPlaces> places) {
  ModelWeights w;
  Binder bind(c, *places);
  w.places = std::move(places);
  w.embed = bind.rows("embed", WeightRole::embedding);
  w.head = bind.weight("head", WeightRole::head);
  w.norm = bind.vector("norm.weight");
  for (std::int64_t l = 0; l < c.n_layers; ++l) {
    w.layers.push_back(bind.block(fmt::format("layers.{}", l), l));
    if (c.engram_index(l) >= 0) w.layers.back().engram = bind.engram(fmt::format("layers.{}.engram", l));
  }
  if (c.n_mtp_layers > 0) {
    DraftWeights d;
    for (std::int64_t s = 0; s < c.n_mtp_layers; ++s)
      d.stages.push_back(bind.block(fmt::format("mtp.{}", s), c.n_layers + s));
    const std::string last = fmt::format("mtp.{}", c.n_mtp_layers - 1);
    d.main_proj = bind.weight("mtp.0.main_proj");
    d.main_norm = bind.vector("mtp.0.main_norm.weight");
    d.norm = bind.vector(last + ".norm.weight");
    d.markov_embed = bind.rows(last + ".markov_head.embed", WeightRole::embedding);
    d.markov_head = bind.weight(last + ".markov_head.head", WeightRole::head);
    d.confidence_proj = bind.weight(last + ".confidence_head.proj");
    w.draft = std::move(d);
  }
  if (bind.error()) return tl::unexpected(*bind.error());
  return w;
}

}  // namespace cachalot
