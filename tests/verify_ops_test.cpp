// SPDX-License-Identifier: Apache-2.0
// Every operator against the golden files, and that a damaged golden file is noticed.
#include "verify/verify_ops.h"

#include "golden_copy.h"

namespace cachalot::verify_ops_test {
namespace {

const std::filesystem::path ops_folder = CACHALOT_BUILD_DIR "/golden/ops-a";

struct Outcome {
  bool good;
  std::string text;
};

Outcome verify(const std::filesystem::path& folder) {
  std::string text;
  Report report([&](std::string_view line) { text += std::string(line) + "\n"; }, {});
  if (Status done = verify_ops(folder, all_backends(), report); !done) return {false, done.error().message};
  return {report.finish(), text};
}

// The golden file alone in a folder.
std::filesystem::path only(const std::string& file) {
  const auto folder = empty_folder();
  std::filesystem::copy_file(ops_folder / file, folder / file);
  return folder / file;
}

void expect_failure(const std::filesystem::path& file, std::string_view named) {
  const Outcome o = verify(file.parent_path());
  EXPECT_FALSE(o.good);
  EXPECT_NE(o.text.find(named), std::string::npos) << o.text;
}

TEST(VerifyOps, EveryBackendPassesEveryGoldenFile) {
  const Outcome o = verify(ops_folder);
  EXPECT_TRUE(o.good) << o.text;
}

TEST(VerifyOps, OneNumberChangedIsAFailureOfItsTensor) {
  for (const auto& [name, tensor] :
       {std::pair("gemm_0", "y4"), std::pair("rope_0", "inverse"), std::pair("quant", "fp8_roundtrip"),
        std::pair("sparse_attn_0", "out"), std::pair("expert_swiglu", "y"), std::pair("rms_norm", "y")}) {
    const auto file = only(std::string(name) + ".safetensors");
    damage(file, tensor, bf16{0x4123});
    expect_failure(file, tensor);
  }
  for (const auto& [name, tensor] :
       {std::pair("hc_sinkhorn", "comb"), std::pair("gate_softmax", "weights"), std::pair("formats", "e8m0"),
        std::pair("sparse_attn_1", "out_f32"), std::pair("rope_1", "cos")}) {
    const auto file = only(std::string(name) + ".safetensors");
    damage(file, tensor, 0.123f);
    expect_failure(file, tensor);
  }
  for (const auto& [name, tensor] : {std::pair("candidates_0", "keep"), std::pair("quant", "fp4_b16_packed")}) {
    const auto file = only(std::string(name) + ".safetensors");
    damage(file, tensor, std::uint8_t{7});
    expect_failure(file, tensor);
  }
  for (const auto& [name, tensor] : {std::pair("window_idxs", "4_9_0"), std::pair("gate_sigmoid", "indices")}) {
    const auto file = only(std::string(name) + ".safetensors");
    damage(file, tensor, std::int32_t{3});
    expect_failure(file, tensor);
  }
}

TEST(VerifyOps, NaNInAGoldenFileIsAFailure) {
  const auto file = only("sparse_attn_0.safetensors");
  damage(file, "out_f32", std::numeric_limits<float>::quiet_NaN());
  expect_failure(file, "out of place");
}

TEST(VerifyOps, TensorThatNothingReadsIsAFailure) {
  const auto file = only("gemm_0.safetensors");
  add_tensor(file, "surplus");
  expect_failure(file, "surplus");
}

TEST(VerifyOps, MissingTensorIsAFailure) {
  const auto file = only("gemm_0.safetensors");
  remove_tensor(file, "y8");
  expect_failure(file, "y8");
}

TEST(VerifyOps, SlotOutsideTheVectorsIsAFailure) {
  const auto file = only("sparse_attn_0.safetensors");
  damage(file, "topk_idxs", std::int32_t{1000});
  expect_failure(file, "topk_idxs");
}

TEST(VerifyOps, FileCutOffIsAFailure) {
  const auto file = only("rope_0.safetensors");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  expect_failure(file, "rope_0");
}

TEST(VerifyOps, FileOfNoKnownKindIsAFailure) {
  const auto file = only("gemm_0.safetensors");
  write_text(file.parent_path() / "surprise.safetensors", "x");
  expect_failure(file, "not run: no operator case is named so");
}

TEST(VerifyOps, FolderWithoutFilesIsAFailure) {
  const Outcome o = verify(empty_folder());
  EXPECT_FALSE(o.good);
  EXPECT_NE(o.text.find("not one case"), std::string::npos) << o.text;
}

TEST(VerifyOps, FolderThatIsNotThereIsAnError) { EXPECT_FALSE(verify(empty_folder() / "none").good); }

}  // namespace
}  // namespace cachalot::verify_ops_test
