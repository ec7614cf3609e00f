// SPDX-License-Identifier: Apache-2.0
#include "engine/state_key.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/test_folder.h"
#include "checkpoint/test_checkpoint.h"
#include "device/cpu/simd_level.h"
#include "engine/test_generate.h"

namespace cachalot::state_key_test {
namespace {

namespace fs = std::filesystem;

Model loaded_as(const ModelOptions& options) {
  auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", options);
  EXPECT_TRUE(loaded);
  return std::move(loaded->model);
}

TEST(StateMode, TellsWhateverChangesTheBitsOfAState) {
  std::set<std::string> modes;
  const ModelOptions cpu{.backend = &cpu_backend()};
  ModelOptions f32 = cpu, published = cpu, drafts = cpu;
  f32.numerics = Numerics::f32;
  published.index_keys = IndexKeys::published_slot;
  drafts.drafts = true;
  for (const ModelOptions& options : {cpu, ModelOptions{}, f32, published, drafts})
    modes.insert(state_mode(loaded_as(options)));
  EXPECT_EQ(modes.size(), 5u);
  EXPECT_EQ(state_mode(loaded_as(cpu)), state_mode(mini().model));
  const SimdLevel best = simd_level();
  for (const SimdLevel& level : simd_levels()) {
    force_simd_level(level);
    EXPECT_NE(state_mode(mini().model).find(level.name), std::string::npos);
  }
  force_simd_level(best);
}

TEST(ModelFingerprint, IsAnotherForEachFileThatChanges) {
  const TestFolder folder;
  const fs::path copy = folder.path();
  const fs::path original = CACHALOT_BUILD_DIR "/golden/mini-a";
  for (const auto& entry : fs::directory_iterator(original)) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), copy / entry.path().filename());
  }
  const auto of_copy = [&] {
    const auto checkpoint = Checkpoint::open(copy);
    EXPECT_TRUE(checkpoint);
    return *model_fingerprint(*checkpoint);
  };
  const std::string first = of_copy();
  EXPECT_EQ(first, *model_fingerprint(*mini().checkpoint)) << "where it lies does not count";
  EXPECT_EQ(first.size(), 16u);
  std::set<std::string> seen = {first};
  for (const auto& entry : fs::directory_iterator(copy)) {
    const fs::path path = entry.path();
    const bool is_shard = path.extension() == ".safetensors";
    if (!is_shard && path.filename() != "config.json" && path.filename() != "tokenizer.json" &&
        path.filename() != "model.safetensors.index.json") {
      continue;
    }
    fs::copy_file(path, copy / "kept");
    if (is_shard) {
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('\x7e');
    } else {
      std::ofstream(path, std::ios::app) << ' ';
    }
    EXPECT_TRUE(seen.insert(of_copy()).second) << path;
    fs::rename(copy / "kept", path);
  }
  EXPECT_EQ(of_copy(), first);
  fs::remove_all(copy);
}

TEST(ModelFingerprint, SeesEveryByteOfAShardThatIsNotHuge) {
  const EditedCheckpoint one;
  const auto of = [&] { return *model_fingerprint(*one.open()); };
  const std::string first = of();
  EXPECT_EQ(of(), first) << "the same bytes, written again";
  const fs::path shard = one.path() / "model.safetensors";
  const auto checkpoint = one.open();
  const auto size = static_cast<std::int64_t>(fs::file_size(shard));
  std::set<std::string> seen = {first};
  for (int i = 0; i < 40; ++i) {  // within the tensors, which come last
    const std::int64_t at = size - 1 - size / 2 * i / 40;
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char was = static_cast<char>(file.get());
    file.seekp(at).put(static_cast<char>(was ^ 1)).flush();
    EXPECT_TRUE(seen.insert(*model_fingerprint(*checkpoint)).second) << at;
    file.seekp(at).put(was);
  }
}

TEST(ModelFingerprint, SeesThatAHugeShardWasWrittenAgain) {
  EditedCheckpoint huge;
  const std::vector<std::byte> padding(std::size_t{65} << 20);
  huge.tensors.push_back({{"padding", DType::i32, {static_cast<std::int64_t>(padding.size() / 4)}}, padding});
  const auto checkpoint = huge.open();
  ASSERT_TRUE(checkpoint);
  const std::string first = *model_fingerprint(*checkpoint);
  EXPECT_EQ(*model_fingerprint(*checkpoint), first);
  const fs::path shard = huge.path() / "model.safetensors";
  std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary).seekp(std::int64_t{20'000'001}).put('\x01');
  EXPECT_NE(*model_fingerprint(*checkpoint), first);
}

// Whoever writes weights and sets their time back is seen at the samples: beginning, end, and between.
TEST(ModelFingerprint, SeesTheEndsOfAHugeShardWhateverItsTime) {
  EditedCheckpoint huge;
  const std::vector<std::byte> padding(std::size_t{65} << 20);
  huge.tensors.push_back({{"padding", DType::i32, {static_cast<std::int64_t>(padding.size() / 4)}}, padding});
  const auto checkpoint = huge.open();
  ASSERT_TRUE(checkpoint);
  const std::string first = *model_fingerprint(*checkpoint);
  const fs::path shard = huge.path() / "model.safetensors";
  const auto time = fs::last_write_time(shard);
  const auto size = static_cast<std::int64_t>(fs::file_size(shard));
  for (const std::int64_t at : {std::int64_t{4095}, size - 4096, size - 1}) {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char was = static_cast<char>(file.get());
    file.seekp(at).put(static_cast<char>(was ^ 1)).flush();
    fs::last_write_time(shard, time);
    EXPECT_NE(*model_fingerprint(*checkpoint), first) << at;
    file.seekp(at).put(was).flush();
    fs::last_write_time(shard, time);
    EXPECT_EQ(*model_fingerprint(*checkpoint), first) << at;
  }
}

TEST(StateKey, NamesTheModelsFolderForPeople) {
  const auto key = state_key(mini().model, *mini().checkpoint);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->model, "mini-a");
  EXPECT_EQ(key->mode, state_mode(mini().model));
}

}  // namespace
}  // namespace cachalot::state_key_test
