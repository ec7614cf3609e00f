// SPDX-License-Identifier: Apache-2.0
// Norms, sinks, biases and hyper-connections in each of the types that converters write them in, and with a value that
// is no number. On the golden model mini-a.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <limits>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/test_checkpoint.h"
#include "engine/load_model.h"
#include "numerics/bf16.h"
#include "ops/backend.h"
#include "weights/small_parameters.h"

namespace cachalot::small_parameters_test {
namespace {

using Bytes = std::vector<std::byte>;

bool is_small(const ExpectedTensor& tensor) {
  switch (tensor.role) {
    case TensorRole::norm:
    case TensorRole::gate_bias:
    case TensorRole::sink:
    case TensorRole::hc_matrix:
    case TensorRole::hc_base:
    case TensorRole::hc_scale:
      return tensor.part != Part::vision;
    default:
      return false;
  }
}

// What bf16, f16 and f32 all have: eight bits, and no smaller than f16's least normal number.
float common(float value) {
  const float rounded = to_float(to_bf16(value));
  return std::abs(rounded) < 0x1p-14f ? 0.0f : rounded;
}

// The bits of an f16, for what common() gives, infinities and NaN.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = bits >> 23 & 0xFF;
  const std::uint32_t narrow = exponent == 0 ? 0 : exponent == 0xFF ? 31 : exponent - 112;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | narrow << 10 | (bits >> 13 & 0x3FF));
}

template <class T>
void append(Bytes& to, T value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<float> values_of(const TensorData& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DType::f32) {
      std::memcpy(&values[i], tensor.data.data() + 4 * i, 4);
    } else {
      bf16 narrow;
      std::memcpy(&narrow, tensor.data.data() + 2 * i, 2);
      values[i] = to_float(narrow);
    }
  }
  return values;
}

// mini-a with all small parameters rounded to what the three types have, stored as one of them.
class Retyped {
 public:
  explicit Retyped(DType type) {
    const auto config = parse_config(edited.config.dump(), "config");
    for (const ExpectedTensor& want : expected_tensors(config->config)) {
      if (!is_small(want)) continue;
      TensorData& tensor = edited[want.name];
      Bytes& bytes = bytes_.emplace_back();
      for (const float value : values_of(tensor)) put(bytes, type, common(value));
      tensor.dtype = type;
      tensor.data = bytes;
      ++changed;
    }
    std::filesystem::copy_file(mini_a() / "tokenizer.json", edited.path() / "tokenizer.json");
  }
  void set(const std::string& name, DType type, std::size_t at, float value) {
    TensorData& tensor = edited[name];
    Bytes& bytes = bytes_.emplace_back();
    std::vector<float> values = values_of(tensor);
    values.at(at) = value;
    for (const float v : values) put(bytes, type, v);
    tensor.dtype = type;
    tensor.data = bytes;
  }
  Expected<LoadedModel> load(const ModelOptions& options) {
    EXPECT_TRUE(edited.open().has_value());
    return load_model(edited.path(), options);
  }

  EditedCheckpoint edited;
  int changed = 0;

 private:
  static void put(Bytes& bytes, DType type, float value) {
    if (type == DType::f32) append(bytes, value);
    if (type == DType::bf16) append(bytes, to_bf16(value));
    if (type == DType::f16) append(bytes, half_of(value));
  }

  std::deque<Bytes> bytes_;
};

// Logits of a prompt's last rows, and of the drafts behind it.
std::vector<float> run(const Model& model) {
  Context context;
  Sequence sequence = model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<Row> rows;
  for (std::int32_t i = 0; i < 12; ++i) rows.push_back({.token = TokenId{3 + i * 41 % 400}, .wants_logits = i >= 9});
  std::vector<float> logits;
  const Status ran = model.forward(context, {one, rows}, logits);
  EXPECT_TRUE(ran) << ran.error().message;
  const std::array next = {TokenId{7}};
  const auto drafts = model.draft(context, one, next);
  EXPECT_TRUE(drafts) << drafts.error().message;
  if (drafts) logits.insert(logits.end(), drafts->logits.begin(), drafts->logits.end());
  return logits;
}

TEST(SmallParameters, EveryTypeGivesTheSameBitsWhereItHasTheValues) {
  for (const Backend* backend : {&reference_backend(), &cpu_backend()}) {
    for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
      const ModelOptions options{.backend = backend, .numerics = numerics, .drafts = true};
      std::vector<float> wanted;
      for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
        Retyped retyped(type);
        EXPECT_GT(retyped.changed, 150);
        const auto loaded = retyped.load(options);
        ASSERT_TRUE(loaded) << loaded.error().message;
        const std::vector<float> got = run(loaded->model);
        if (wanted.empty()) wanted = got;
        EXPECT_TRUE(std::ranges::equal(got, wanted)) << backend->name << " " << name(type);
      }
    }
  }
}

TEST(SmallParameters, OneThatIsNoNumberIsToldByNameAndPlace) {
  const struct {
    const char* name;
    std::size_t at;
    DType type;
    float value;
    const char* told;
  } cases[] = {{"layers.3.ffn.gate.bias", 5, DType::f32, NAN, "layers.3.ffn.gate.bias: [5] is nan"},
               {"layers.0.ffn.gate.bias_vl", 0, DType::bf16, NAN, "layers.0.ffn.gate.bias_vl: [0] is nan"},
               {"layers.2.attn.attn_sink", 1, DType::f16, INFINITY, "layers.2.attn.attn_sink: [1] is inf"},
               {"layers.0.attn_norm.weight", 127, DType::bf16, -INFINITY, "layers.0.attn_norm.weight: [127] is -inf"},
               {"norm.weight", 3, DType::f16, NAN, "norm.weight: [3] is nan"},
               {"layers.1.engram.q_weight", 129, DType::f32, NAN, "layers.1.engram.q_weight: [1, 1] is nan"},
               {"mtp.1.hc_ffn_fn", 512 + 17, DType::f32, INFINITY, "mtp.1.hc_ffn_fn: [1, 17] is inf"},
               {"layers.4.hc_attn_base", 2, DType::bf16, NAN, "layers.4.hc_attn_base: [2] is nan"},
               {"mtp.2.hc_ffn_scale", 1, DType::f16, NAN, "mtp.2.hc_ffn_scale: [1] is nan"}};
  for (const auto& c : cases) {
    Retyped retyped(DType::f32);
    retyped.set(c.name, c.type, c.at, c.value);
    const auto loaded = retyped.load({});
    ASSERT_FALSE(loaded.has_value()) << c.name;
    EXPECT_NE(loaded.error().message.find(fmt::format("tensor {}, expected a finite number", c.told)),
              std::string::npos)
        << loaded.error().message;
  }
}

TEST(SmallParameters, WhatIsWidenedIsCountedInThePlan) {
  const auto bytes_in = [](DType type) {
    Retyped retyped(type);
    const auto checkpoint = retyped.edited.open();
    EXPECT_TRUE(checkpoint.has_value());
    return widened_bytes(*checkpoint);
  };
  std::int64_t norms = 0, others = 0;
  const auto checkpoint = Checkpoint::open(mini_a());
  for (const ExpectedTensor& want : expected_tensors(checkpoint->config())) {
    if (is_small(want)) (want.role == TensorRole::norm ? norms : others) += want.bytes() / bytes_of(want.dtype()) * 4;
  }
  EXPECT_EQ(bytes_in(DType::f32), 0);
  EXPECT_EQ(bytes_in(DType::bf16), others);
  EXPECT_EQ(bytes_in(DType::f16), others + norms);
  EXPECT_EQ(widened_bytes(*checkpoint), 0);

  Retyped retyped(DType::f16);
  const auto narrow = retyped.edited.open();
  const auto files = look_at_model(retyped.edited.path());
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(plan_memory(*files, {}, &*narrow).own.copies, others + norms + narrow->copied_bytes());
}

}  // namespace
}  // namespace cachalot::small_parameters_test
