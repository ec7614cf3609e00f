// SPDX-License-Identifier: Apache-2.0
// A whole model against the golden cases, and that damaged cases are noticed. All cases of mini-a and the prototype run
// through the command line: see CMakeLists.txt.
#include "verify/verify_model.h"

#include "golden_copy.h"
#include "verify/verify_structure.h"

namespace cachalot::verify_model_test {
namespace {

const std::filesystem::path mini_a = CACHALOT_BUILD_DIR "/golden/mini-a";

struct Outcome {
  bool good;
  std::string text;
};

Outcome verify(const std::filesystem::path& golden, bool strict = false, const VerifyModelOptions& options = {}) {
  std::string text;
  Report report([&](std::string_view line) { text += std::string(line) + "\n"; }, {.strict = strict});
  if (Status done = verify_model(mini_a, golden, options, report); !done) return {false, done.error().message};
  return {report.finish(), text};
}

constexpr std::string_view short_prompt_entry =
    R"({"file": "prefill_f32_3.safetensors", "kind": "prefill", "numerics": "f32", "tokens": 3, "taps": false})";

// A folder with these entries in its manifest and these files of mini-a.
std::filesystem::path folder_with(std::string_view entries, std::initializer_list<const char*> files) {
  const auto folder = empty_folder();
  for (const char* file : files) std::filesystem::copy_file(mini_a / "cases" / file, folder / file);
  write_text(folder / "manifest.json", fmt::format(R"({{"cases": [{}]}})", entries));
  return folder;
}
std::filesystem::path short_prompt_folder() { return folder_with(short_prompt_entry, {"prefill_f32_3.safetensors"}); }

void expect_failure(const std::filesystem::path& folder, std::string_view named) {
  const Outcome o = verify(folder);
  EXPECT_FALSE(o.good);
  EXPECT_NE(o.text.find(named), std::string::npos) << o.text;
}

TEST(VerifyModel, ShortPromptPasses) {
  const Outcome o = verify(short_prompt_folder());
  EXPECT_TRUE(o.good) << o.text;
}

TEST(VerifyModel, OneLogitChangedIsAFailure) {
  const auto folder = short_prompt_folder();
  damage(folder / "prefill_f32_3.safetensors", "logits_all", 1e3f);
  expect_failure(folder, "prefill_f32_3");
}

TEST(VerifyModel, OneTokenChangedIsAFailure) {
  const auto folder = short_prompt_folder();
  damage(folder / "prefill_f32_3.safetensors", "input_ids", std::int32_t{5});
  expect_failure(folder, "prefill_f32_3");
}

TEST(VerifyModel, TokenOutsideTheVocabularyIsAFailureNotACrash) {
  for (const std::int32_t id : {-1, 497, 1 << 30}) {
    const auto folder = short_prompt_folder();
    damage(folder / "prefill_f32_3.safetensors", "input_ids", id);
    expect_failure(folder, "prefill_f32_3");
  }
}

TEST(VerifyModel, MissingFileIsAFailureOfItsCase) {
  const auto folder = short_prompt_folder();
  std::filesystem::remove(folder / "prefill_f32_3.safetensors");
  expect_failure(folder, "prefill_f32_3");
}

TEST(VerifyModel, MissingTensorIsAFailure) {
  const auto folder = short_prompt_folder();
  remove_tensor(folder / "prefill_f32_3.safetensors", "logits_all");
  expect_failure(folder, "logits_all");
}

TEST(VerifyModel, TensorThatTheEngineHasNotIsAFailure) {
  const auto folder = folder_with(
      R"({"file": "prefill_f32_72.safetensors", "kind": "prefill", "numerics": "f32", "tokens": 72, "taps": true})",
      {"prefill_f32_72.safetensors"});
  add_tensor(folder / "prefill_f32_72.safetensors", "surplus");
  expect_failure(folder, "surplus");
}

TEST(VerifyModel, FileCutOffIsAFailure) {
  const auto folder = short_prompt_folder();
  std::filesystem::resize_file(folder / "prefill_f32_3.safetensors", 200);
  expect_failure(folder, "prefill_f32_3");
}

TEST(VerifyModel, NoCaseAtAllIsAFailure) {
  expect_failure(folder_with("", {}), "not one case");
  const auto folder = empty_folder();
  EXPECT_FALSE(verify(folder).good) << "no manifest and no long text";
}

TEST(VerifyModel, KindThatNobodyKnowsIsAFailure) {
  expect_failure(folder_with(R"({"kind": "riddle", "numerics": "f32"})", {}), "riddle");
}

TEST(VerifyModel, ManifestThatIsNoManifestIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"cases": [1]})", R"({"cases": [{"kind": "prefill"}]})",
                           R"({"cases": [{"kind": "prefill", "numerics": "f32", "file": "../x"}]})"}) {
    const auto folder = empty_folder();
    write_text(folder / "manifest.json", text);
    expect_failure(folder, "manifest.json");
  }
}

TEST(VerifyModel, FileThatTheManifestDoesNotListIsNotRun) {
  const auto folder = short_prompt_folder();
  std::filesystem::copy_file(mini_a / "cases/prefill_f32_2.safetensors", folder / "other.safetensors");
  EXPECT_TRUE(verify(folder).good);
  const Outcome strict = verify(folder, true);
  EXPECT_FALSE(strict.good);
  EXPECT_NE(strict.text.find("other.safetensors"), std::string::npos) << strict.text;
}

TEST(VerifyModel, PromptWithTapsPassesLayerByLayerAndOneTapChangedDoesNot) {
  constexpr std::string_view entry =
      R"({"file": "prefill_f32_72.safetensors", "kind": "prefill", "numerics": "f32", "tokens": 72, "taps": true})";
  const auto folder = folder_with(entry, {"prefill_f32_72.safetensors"});
  const Outcome whole = verify(folder);
  ASSERT_TRUE(whole.good) << whole.text;
  const auto file = folder / "prefill_f32_72.safetensors";
  damage(file, "layers.4.attn.sparse_out", 3.0f);
  expect_failure(folder, "layers.4.attn.sparse_out");
}

TEST(VerifyModel, EveryDraftOfEverySequenceIsJudged) {
  constexpr std::string_view entry =
      R"({"file": "decode_f32_owner.safetensors", "kind": "decode", "numerics": "f32", "index_keys": "owner",
          "prefill": 50, "steps": 40, "batch": 2})";
  const auto golden = folder_with(entry, {"decode_f32_owner.safetensors"});
  const VerifyModelOptions cpu{.backend = &cpu_backend()};
  const Outcome whole = verify(golden, false, cpu);
  ASSERT_TRUE(whole.good) << whole.text;
  // Two sequences, each with the given token and five drafts; all stand well above the margin. The first that differs
  // is named, and sequences with another draft are counted.
  for (const std::int64_t draft : {0, 4}) {
    const auto folder = folder_with(entry, {"decode_f32_owner.safetensors"});
    for (const std::int64_t sequence : {0, 1})
      damage(folder / "decode_f32_owner.safetensors", "dspark.ids.55", std::int32_t{9}, 6 * sequence + 1 + draft);
    const Outcome o = verify(folder, false, cpu);
    EXPECT_FALSE(o.good) << draft;
    EXPECT_NE(o.text.find(fmt::format("other draft in 2; sequence 0 position 55 draft {}", draft)), std::string::npos)
        << o.text;
  }
}

TEST(VerifyModel, SlotThatARowCantSeeIsAFailureNotACrash) {
  constexpr std::string_view entry =
      R"({"file": "prefill_f32_72.safetensors", "kind": "prefill", "numerics": "f32", "tokens": 72, "taps": true})";
  const auto folder = folder_with(entry, {"prefill_f32_72.safetensors"});
  damage(folder / "prefill_f32_72.safetensors", "layers.2.attn.topk_idxs", std::int32_t{9999});
  expect_failure(folder, "layers.2.attn.topk_idxs");
}

TEST(VerifyStructure, GoldenModelIsWholeAndFinite) {
  const auto facts = verify_structure(mini_a);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_GT(facts->tensors, 1000);
  const auto checkpoint = Checkpoint::open(mini_a);
  ASSERT_TRUE(checkpoint);
  const ValueFacts values = verify_values(*checkpoint, [](std::int64_t, std::int64_t) { return true; });
  EXPECT_EQ(values.tensors, facts->tensors);
  EXPECT_EQ(values.bytes, facts->bytes);
  EXPECT_TRUE(values.problems.empty()) << values.problems.front();
}

TEST(VerifyStructure, ValuesThatNoWeightMayHaveAreNamed) {
  const auto folder = empty_folder();
  std::filesystem::copy(mini_a, folder);
  const auto damage_model = [&](std::string_view tensor, auto value) {
    for (const char* shard : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
      const auto file = SafetensorsFile::open(folder / shard);
      ASSERT_TRUE(file);
      if (file->find(tensor) != nullptr) damage(folder / shard, tensor, value);
    }
  };
  damage_model("norm.weight", bf16{0x7F80});
  damage_model("layers.0.attn.wq_a.weight", std::uint8_t{0xFF});
  damage_model("layers.0.ffn.experts.0.w1.scale", std::uint8_t{255});
  damage_model("layers.0.attn.wkv.scale", std::uint8_t{254});  // legal, but 2^127 times most codes is not
  const auto checkpoint = Checkpoint::open(folder);
  ASSERT_TRUE(checkpoint);
  const ValueFacts values = verify_values(*checkpoint, [](std::int64_t, std::int64_t) { return true; });
  std::string all;
  for (const std::string& problem : values.problems) all += problem + "\n";
  EXPECT_EQ(values.problems.size(), 4u) << all;
  for (const char* name : {"norm.weight", "wq_a.weight", "experts.0.w1.scale", "wkv.weight"}) {
    EXPECT_NE(all.find(name), std::string::npos) << all;
  }
}

}  // namespace
}  // namespace cachalot::verify_model_test
