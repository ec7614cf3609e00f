// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/expected_tensors.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/released_config.h"
#include "checkpoint/test_checkpoint.h"

namespace cachalot::expected_tensors_test {
namespace {

std::string error_of(const EditedCheckpoint& edited) {
  const auto checkpoint = edited.open();
  if (!checkpoint) return "open: " + checkpoint.error().message;
  const auto unused = check_tensors(*checkpoint);
  return unused ? "no error" : unused.error().message;
}

std::vector<std::string> unused_of(const EditedCheckpoint& edited) {
  const auto checkpoint = edited.open();
  EXPECT_TRUE(checkpoint.has_value());
  const auto unused = check_tensors(*checkpoint);
  EXPECT_TRUE(unused.has_value()) << unused.error().message;
  return unused.value_or(std::vector<std::string>{"error"});
}

TEST(ExpectedTensors, GoldenCheckpointsHaveExactlyTheTensorsOfTheTable) {
  for (const std::filesystem::path& path :
       {mini_a(), std::filesystem::path(CACHALOT_TEST_DATA "/../../models/prototype")}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    const auto unused = check_tensors(*checkpoint);
    ASSERT_TRUE(unused.has_value()) << unused.error().message;
    EXPECT_TRUE(unused->empty()) << (*unused)[0];
    const auto expected = expected_tensors(checkpoint->config());
    EXPECT_EQ(expected.size(), checkpoint->tensors().size());
    std::int64_t bytes = 0;
    for (const ExpectedTensor& tensor : expected) {
      bytes += tensor.bytes();
      EXPECT_EQ(checkpoint->find(tensor.name)->dtype, tensor.dtype()) << tensor.name;
    }
    EXPECT_EQ(bytes, checkpoint->bytes());
  }
}

TEST(ExpectedTensors, ReleasedShapeHasThePublishedInventory) {
  const auto loaded = parse_config(released_config_text(), "released");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const auto tensors = expected_tensors(loaded->config);
  EXPECT_EQ(tensors.size(), 96'085u);
  std::int64_t bytes = 0;
  std::set<std::string> names;
  for (const ExpectedTensor& tensor : tensors) {
    bytes += tensor.bytes();
    names.insert(tensor.name);
  }
  EXPECT_EQ(names.size(), tensors.size());
  EXPECT_NEAR(static_cast<double>(bytes) / (1 << 30), 475.2, 0.05);
}

TEST(CheckTensors, MissingTensorIsNamedAndTheStrangerTold) {
  EditedCheckpoint edited;
  edited["layers.3.ffn.gate.bias"].name = "layers.3.ffn.gate.e_score_correction_bias";
  EXPECT_EQ(error_of(edited), edited.path().string() +
                                  ": 1 tensors are missing: layers.3.ffn.gate.bias. Tensors nobody asks for: "
                                  "layers.3.ffn.gate.e_score_correction_bias");
}

TEST(CheckTensors, EachKindOfDraftTensorIsMissed) {
  for (const char* name : {"mtp.0.main_proj.weight", "mtp.0.main_norm.weight", "mtp.1.ffn.shared_experts.w2.scale",
                           "mtp.2.norm.weight", "mtp.2.markov_head.embed.weight", "mtp.2.markov_head.head.weight",
                           "mtp.2.confidence_head.proj.weight", "mtp.1.hc_ffn_scale", "mtp.2.ffn.gate.bias_vl"}) {
    EditedCheckpoint edited;
    edited.drop(name);
    EXPECT_NE(error_of(edited).find(fmt::format("1 tensors are missing: {}", name)), std::string::npos) << name;
  }
}

TEST(CheckTensors, WeightWithoutScaleAndScaleWithoutWeightAreTold) {
  EditedCheckpoint edited;
  edited.drop("layers.1.ffn.experts.3.w2.scale");
  edited.drop("layers.1.engram.embed.weight");
  const std::string error = error_of(edited);
  EXPECT_NE(error.find("layers.1.ffn.experts.3.w2.scale (its partner layers.1.ffn.experts.3.w2.weight is there)"),
            std::string::npos);
  EXPECT_NE(error.find("layers.1.engram.embed.weight (its partner layers.1.engram.embed.scale is there)"),
            std::string::npos);
}

TEST(CheckTensors, WrongShapeSaysFileTensorFoundAndExpected) {
  EditedCheckpoint edited;
  edited["layers.0.attn.wq_a.weight"].shape = {128, 64};
  EXPECT_EQ(error_of(edited), (edited.path() / "model.safetensors").string() +
                                  ": tensor layers.0.attn.wq_a.weight has shape [128, 64], expected [64, 128]");
  EditedCheckpoint flat;
  flat["norm.weight"].shape = {1, 128};
  EXPECT_NE(error_of(flat).find("tensor norm.weight has shape [1, 128], expected [128]"), std::string::npos);
}

TEST(CheckTensors, SmallParametersMayBeF32OrF16OrBf16) {
  const std::vector<std::byte> zeros(8 * 128 * 4);
  const auto with = [&](const char* name, DType type) {
    EditedCheckpoint edited;
    TensorData& tensor = edited[name];
    tensor.dtype = type;
    tensor.data = std::span(zeros).first(static_cast<std::size_t>(tensor.bytes()));
    return error_of(edited);
  };
  for (const char* name :
       {"layers.0.ffn.gate.weight", "layers.0.ffn.gate.bias", "layers.0.ffn.gate.bias_vl", "layers.0.attn.attn_sink",
        "layers.0.attn_norm.weight", "layers.1.engram.k_weight", "layers.0.hc_attn_base", "layers.0.hc_attn_scale"}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) EXPECT_EQ(with(name, type), "no error") << name;
  }
  EXPECT_NE(with("layers.0.ffn.gate.weight", DType::i8).find("is I8, expected BF16 or F16 or F32"), std::string::npos);
  EXPECT_NE(with("layers.0.ffn.gate.bias", DType::i8).find("bias is I8, expected F32 or F16 or BF16"),
            std::string::npos);
  EXPECT_EQ(with("mtp.2.norm.weight", DType::f32), "no error");
  EXPECT_NE(with("layers.0.attn.wq_a.scale", DType::i8).find("is I8, expected F8_E8M0 or U8"), std::string::npos);
  EXPECT_EQ(with("layers.0.attn.wq_a.scale", DType::u8), "no error");
  EXPECT_EQ(with("layers.0.ffn.experts.0.w1.weight", DType::u8), "no error");
}

TEST(CheckTensors, MarkovTablesMayBeF32) {
  const std::vector<std::byte> zeros(497 * 16 * 4);
  EditedCheckpoint edited;
  for (const char* name : {"mtp.2.markov_head.embed.weight", "mtp.2.markov_head.head.weight"}) {
    edited[name].dtype = DType::f32;
    edited[name].data = zeros;
  }
  EXPECT_EQ(error_of(edited), "no error");
}

TEST(CheckTensors, TensorsNobodyUsesAreListedWhateverTheirType) {
  EditedCheckpoint edited;
  static const std::byte data[8] = {};
  edited.tensors.push_back({{"layers.0.attn.wq_a.input_scale", DType::f32, {1}}, std::span(data).first(4)});
  edited.tensors.push_back({{"step", DType::i64, {1}}, data});
  EXPECT_EQ(unused_of(edited), (std::vector<std::string>{"step", "layers.0.attn.wq_a.input_scale"}));
}

TEST(CheckTensors, ScaleBesideAWeightThatIsNotQuantizedIsRefusedByName) {
  static const std::byte data[8] = {};
  const auto with = [](const std::string& name) {
    EditedCheckpoint edited;
    edited.tensors.push_back({{name, DType::e8m0, {1, 1}}, std::span(data).first(1)});
    return error_of(edited);
  };
  for (const char* name : {"layers.2.attn.compressor.wkv", "layers.0.ffn.gate", "head", "embed", "norm"}) {
    EXPECT_NE(with(std::string(name) + ".scale")
                  .find(fmt::format("tensor {}.scale is a scale beside {}.weight, which is BF16", name, name)),
              std::string::npos)
        << name << ": " << with(std::string(name) + ".scale");
  }
  // Scales of activations, and of weights that nobody reads, are extras like any other.
  EXPECT_EQ(with("layers.2.attn.compressor.wkv.input_scale"), "no error");
  EXPECT_EQ(with("layers.2.attn.compressor.wkv.weight_scale"), "no error");
  EXPECT_EQ(with("strange.scale"), "no error");
}

TEST(CheckTensors, VisionBiasIsOptionalWithoutAVisionTower) {
  EditedCheckpoint edited;
  edited.config.set("vision_config", nullptr);
  std::erase_if(edited.tensors, [](const TensorData& t) {
    return t.name.starts_with("vision.") || t.name.starts_with("aligner.") || t.name.starts_with("image_") ||
           t.name.ends_with("bias_vl");
  });
  EXPECT_TRUE(unused_of(edited).empty());
}

}  // namespace
}  // namespace cachalot::expected_tensors_test
