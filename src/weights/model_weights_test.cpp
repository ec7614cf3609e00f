// SPDX-License-Identifier: Apache-2.0
#include "weights/model_weights.h"

#include "checkpoint/test_checkpoint.h"
#include "weights/mapped_places.h"

namespace cachalot::model_weights_test {
namespace {

Error error_of(const EditedCheckpoint& edited) {
  auto opened = edited.open();
  EXPECT_TRUE(opened) << opened.error().message;
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(*opened));
  const auto weights = bind_weights(checkpoint->config(), std::make_shared<MappedPlaces>(checkpoint));
  EXPECT_FALSE(weights);
  return weights ? Error{} : weights.error();
}

TEST(BindWeights, ATensorThatIsMissingIsNamedWhateverItIs) {
  for (const char* name : {"embed.weight", "head.weight", "norm.weight", "layers.0.attn.wq_a.scale",
                           "layers.0.attn.attn_sink", "layers.0.ffn.experts.3.w2.weight", "layers.1.hc_ffn_scale",
                           "mtp.0.main_norm.weight", "mtp.2.confidence_head.proj.weight"}) {
    EditedCheckpoint edited;
    edited[name];
    edited.drop(name);
    const Error error = error_of(edited);
    EXPECT_EQ(error.code, Errc::missing);
    EXPECT_EQ(error.message, fmt::format("{}: no such tensor", name));
  }
}

TEST(BindWeights, ATypeThatNoOperatorReadsIsNamedWithItsTensor) {
  for (const char* name : {"norm.weight", "layers.0.attn.attn_sink", "embed.weight"}) {
    EditedCheckpoint edited;
    TensorData& tensor = edited[name];
    tensor.shape.push_back(tensor.dtype == DType::f32 ? 4 : 2);
    tensor.dtype = DType::i8;
    const Error error = error_of(edited);
    EXPECT_EQ(error.code, Errc::format);
    EXPECT_TRUE(error.message.starts_with(std::string(name) + " in ")) << error.message;
    EXPECT_TRUE(error.message.ends_with("type I8 can't be used here")) << error.message;
  }
}

TEST(BindWeights, OfSeveralFaultsTheFirstIsTold) {
  EditedCheckpoint edited;
  edited.drop("norm.weight");
  edited.drop("layers.1.attn.wkv.weight");
  EXPECT_EQ(error_of(edited).message, "norm.weight: no such tensor");
}

}  // namespace
}  // namespace cachalot::model_weights_test
