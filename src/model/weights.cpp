// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

namespace cachalot {
namespace {

// Finds tensors and turns them into what operators read. The first one that is missing is remembered; the checkpoint
// room has looked at all of them before, so an error here means that the two rooms disagree.
class Binder {
 public:
  Binder(const Checkpoint& checkpoint, WidenedParameters& widened)
      : checkpoint_(checkpoint), c_(checkpoint.config()), widened_(widened) {}

  const std::optional<Error>& error() const { return error_; }

  Weight weight(const std::string& name) { return matrix(name + ".weight", name + ".scale"); }

  ConstValues<1> vector(const std::string& name) {
    const TensorInfo* t = small(name);
    if (t == nullptr) return {};
    if (*t->dtype == DType::bf16) return {t->data, DType::bf16, {elements(*t)}};
    return {widened(*t), DType::f32, {elements(*t)}};
  }
  ConstValues<2> table(const std::string& name) {
    const TensorInfo* t = small(name);
    if (t == nullptr) return {};
    if (*t->dtype == DType::bf16) return {t->data, DType::bf16, {t->shape[0], t->shape[1]}};
    return {widened(*t), DType::f32, {t->shape[0], t->shape[1]}};
  }
  View<const float, 1> floats(const std::string& name) {
    const TensorInfo* t = small(name);
    return t == nullptr ? View<const float, 1>() : View<const float, 1>(widened(*t), {elements(*t)});
  }
  // Rows that are looked up by number: plain, or fp8 with a scale per 32 of a row.
  PackedRows rows(const std::string& name) {
    const TensorInfo* t = find(name + ".weight", {DType::bf16, DType::f32, DType::e4m3});
    if (t == nullptr) return {};
    PackedRows r{RowFormat::bf16, t->shape[1], t->shape[0], as<std::uint8_t>(*t), nullptr};
    if (*t->dtype == DType::f32) r.format = RowFormat::f32;
    if (*t->dtype == DType::e4m3) {
      r.format = RowFormat::e4m3_e8m0_32;
      if (const TensorInfo* s = find(name + ".scale", {DType::e8m0, DType::u8})) r.scales = as<std::uint8_t>(*s);
    }
    return r;
  }

  BlockWeights block(const std::string& p, std::int64_t layer);
  EngramWeights engram(const std::string& p) {
    return {rows(p + ".embed"), weight(p + ".wkv"), table(p + ".q_weight"), table(p + ".k_weight")};
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
  const TensorInfo* find(const std::string& name, std::initializer_list<DType> types) {
    const TensorInfo* t = checkpoint_.find(name);
    if (t != nullptr && t->dtype.has_value() && std::ranges::find(types, *t->dtype) != types.end()) return t;
    if (!error_) {
      error_ = t == nullptr ? Error{Errc::missing, fmt::format("{}: no such tensor", name)}
                            : Error{Errc::format,
                                    fmt::format("{} in {}: type {} can't be used here", name, t->file, t->dtype_text)};
    }
    return nullptr;
  }
  Weight matrix(const std::string& name, const std::string& scale) {
    const TensorInfo* t = find(name, {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::i8, DType::u8});
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
      if (const TensorInfo* s = find(scale, {DType::e8m0, DType::u8})) w.scale = as<std::uint8_t>(*s);
    }
    return w;
  }
  // One of the small parameters, all finite.
  const TensorInfo* small(const std::string& name) {
    const TensorInfo* t = find(name, {DType::bf16, DType::f16, DType::f32});
    if (t == nullptr || error_) return t;
    if (const auto place = place_not_finite(*t)) {
      error_ = Error{Errc::format, fmt::format("{}: tensor {}: {}, expected a finite number", t->file, name, *place)};
    }
    return t;
  }
  const float* widened(const TensorInfo& t) {
    const auto values = widened_.floats(t);
    if (!values && !error_) error_ = values.error();
    return values ? *values : nullptr;
  }
  HyperConnectionWeights hyper_connection(const std::string& p) {
    Weight fn;
    if (const TensorInfo* t = small(p + "_fn"))
      fn = Weight{WeightFormat::f32, t->shape[0], t->shape[1], widened(*t), nullptr};
    return {fn, floats(p + "_base"), floats(p + "_scale")};
  }
  ExpertWeights expert(const std::string& p) { return {weight(p + ".w1"), weight(p + ".w2"), weight(p + ".w3")}; }

  const Checkpoint& checkpoint_;
  const Config& c_;
  std::optional<Error> error_;
  WidenedParameters& widened_;
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
  if (checkpoint_.find(f + ".gate.bias_vl") != nullptr) b.ffn.bias_vl = floats(f + ".gate.bias_vl");
  for (std::int64_t e = 0; e < c_.experts(layer); ++e)
    b.ffn.experts.push_back(expert(fmt::format("{}.experts.{}", f, e)));
  b.ffn.shared = expert(f + ".shared_experts");
  return b;
}

}  // namespace

Expected<ModelWeights> bind_weights(const Checkpoint& checkpoint) {
  const Config& c = checkpoint.config();
  ModelWeights w;
  Binder bind(checkpoint, w.widened);
  w.embed = bind.rows("embed");
  w.head = bind.weight("head");
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
    d.markov_embed = bind.rows(last + ".markov_head.embed");
    d.markov_head = bind.weight(last + ".markov_head.head");
    d.confidence_proj = bind.weight(last + ".confidence_head.proj");
    w.draft = std::move(d);
  }
  if (bind.error()) return tl::unexpected(*bind.error());
  return w;
}

}  // namespace cachalot
