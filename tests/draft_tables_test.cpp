// SPDX-License-Identifier: Apache-2.0
// The tables of the draft stages are read as they are stored: bf16, and the same values as f32, give the same drafts.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "engine/load_model.h"
#include "golden_copy.h"
#include "numerics/bf16.h"

namespace cachalot::draft_tables_test {
namespace {

// Writes the file anew with every bf16 tensor whose name ends so stored as f32; -> how many.
int widen(const std::filesystem::path& path, std::string_view ending) {
  std::vector<TensorData> tensors;
  std::vector<std::vector<std::byte>> bytes;
  int widened = 0;
  {
    const auto file = SafetensorsFile::open(path);
    EXPECT_TRUE(file);
    for (const TensorInfo& info : file->tensors()) {
      const bool wide = info.dtype == DType::bf16 && info.name.ends_with(ending);
      widened += wide ? 1 : 0;
      tensors.push_back({{info.name, wide ? DType::f32 : *info.dtype, info.shape}, {}});
      if (!wide) {
        bytes.emplace_back(info.data, info.data + info.bytes);
        continue;
      }
      std::vector<std::byte>& to = bytes.emplace_back(static_cast<std::size_t>(2 * info.bytes));
      const auto* from = reinterpret_cast<const bf16*>(info.data);
      for (std::int64_t i = 0; i < info.bytes / 2; ++i) {
        const float value = to_float(from[i]);
        std::memcpy(to.data() + 4 * i, &value, 4);
      }
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = bytes[i];
  EXPECT_TRUE(write_safetensors(path, tensors));
  return widened;
}

Drafts drafts_of(const std::filesystem::path& folder) {
  const auto loaded = load_model(folder, {.backend = &cpu_backend(), .drafts = true});
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  Context context;
  Sequence sequence = loaded->model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<Row> rows;
  for (std::int32_t t = 0; t < 20; ++t) rows.push_back({.token = TokenId{3 + t * 23}});
  std::vector<float> logits;
  EXPECT_TRUE(loaded->model.forward(context, {.sequences = one, .rows = rows}, logits));
  return *loaded->model.draft(context, one, std::vector<TokenId>{TokenId{40}});
}

TEST(DraftTables, OfBf16AndOfF32GiveTheSameDrafts) {
  const std::filesystem::path source = CACHALOT_BUILD_DIR "/golden/mini-a";
  const std::filesystem::path copy = empty_folder();
  std::filesystem::copy(source, copy, std::filesystem::copy_options::recursive);
  const Drafts want = drafts_of(copy);
  for (const char* table : {"markov_head.embed.weight", "markov_head.head.weight"}) {
    int widened = 0;
    for (const auto& entry : std::filesystem::directory_iterator(copy)) {
      if (entry.path().filename().string().starts_with("model") && entry.path().extension() == ".safetensors")
        widened += widen(entry.path(), table);
    }
    ASSERT_EQ(widened, 1) << table;
    const Drafts got = drafts_of(copy);
    EXPECT_EQ(got.ids, want.ids);
    EXPECT_EQ(got.logits, want.logits);
    EXPECT_EQ(got.confidence, want.confidence);
  }
}

}  // namespace
}  // namespace cachalot::draft_tables_test
