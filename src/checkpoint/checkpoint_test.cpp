// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "checkpoint/shard_index.h"
#include "checkpoint/test_checkpoint.h"

namespace cachalot::checkpoint_test {
namespace {

constexpr const char* index_file = "model.safetensors.index.json";

// mini-a's files, with room for a changed index.
struct Shards {
  Shards() {
    for (const char* name :
         {"config.json", index_file, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
      std::filesystem::copy(mini_a() / name, folder.path() / name);
      std::filesystem::permissions(folder.path() / name, std::filesystem::perms::owner_all);
    }
    index = *parse_json(text_of(mini_a() / index_file), "index");
  }
  Expected<Checkpoint> open() const {
    folder.write(index_file, index.dump());
    return Checkpoint::open(folder.path());
  }
  TestFolder folder;
  Json index;
};

std::string error_of(const Expected<Checkpoint>& checkpoint) {
  return checkpoint ? "no error" : checkpoint.error().message;
}

TEST(Checkpoint, MiniAOpensWithAllItsTensors) {
  const auto checkpoint = Checkpoint::open(mini_a());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->tensors().size(), 1016u);
  EXPECT_EQ(checkpoint->shards().size(), 2u);
  EXPECT_TRUE(checkpoint->warnings().empty()) << checkpoint->warnings()[0];
  const TensorInfo* embed = checkpoint->find("embed.weight");
  ASSERT_NE(embed, nullptr);
  EXPECT_EQ(embed->dtype, DType::bf16);
  EXPECT_EQ(embed->shape, (std::vector<std::int64_t>{497, 128}));
  EXPECT_EQ(checkpoint->find("embed"), nullptr);
  std::int64_t bytes = 0;
  for (const TensorInfo& tensor : checkpoint->tensors()) bytes += tensor.bytes;
  EXPECT_EQ(checkpoint->bytes(), bytes);
}

TEST(Checkpoint, TensorsStayWhereTheyAreWhenItMoves) {
  auto first = Checkpoint::open(mini_a());
  ASSERT_TRUE(first.has_value());
  const std::byte* data = first->find("norm.weight")->data;
  const Checkpoint second = std::move(*first);
  ASSERT_NE(second.find("norm.weight"), nullptr);
  EXPECT_EQ(second.find("norm.weight")->data, data);
}

TEST(Checkpoint, OneFileNeedsNoIndex) {
  const auto checkpoint = EditedCheckpoint().open();
  EXPECT_EQ(error_of(checkpoint), "no error");
}

TEST(Checkpoint, FolderWithoutModelSaysWhatIsMissing) {
  const TestFolder folder;
  EXPECT_NE(error_of(Checkpoint::open(folder.path() / "absent")).find("config.json: No such file"), std::string::npos);
  EXPECT_NE(error_of(Checkpoint::open(folder.path())).find("config.json: No such file"), std::string::npos);
  folder.write("config.json", text_of(mini_a() / "config.json"));
  EXPECT_NE(
      error_of(Checkpoint::open(folder.path())).find("neither model.safetensors.index.json nor model.safetensors"),
      std::string::npos);
}

TEST(Checkpoint, AbsentShardIsNamed) {
  Shards shards;
  std::filesystem::remove(shards.folder.path() / "model-00002-of-00002.safetensors");
  EXPECT_NE(error_of(shards.open())
                .find("1 of 2 shards that model.safetensors.index.json names are missing: model-00002-of-00002"),
            std::string::npos);
}

TEST(Checkpoint, CutShardIsNamed) {
  Shards shards;
  const auto path = shards.folder.path() / "model-00002-of-00002.safetensors";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_TRUE(error_of(shards.open()).starts_with(path.string())) << error_of(shards.open());
}

TEST(Checkpoint, TensorThatIsNotInItsShardIsNamed) {
  Shards shards;
  shards.index.find("weight_map")->set("layers.0.ghost", "model-00001-of-00002.safetensors");
  EXPECT_NE(error_of(shards.open())
                .find("1 tensors are not in the shard they are listed in: layers.0.ghost in model-00001-of-00002"),
            std::string::npos);
}

TEST(Checkpoint, TensorListedInTheOtherShardIsNamed) {
  Shards shards;
  shards.index.find("weight_map")->set("embed.weight", "model-00002-of-00002.safetensors");
  EXPECT_NE(error_of(shards.open()).find("embed.weight in model-00002-of-00002.safetensors"), std::string::npos);
}

TEST(Checkpoint, TensorThatTheIndexForgotIsThereWithAWarning) {
  Shards shards;
  std::vector<Json::Member> kept;
  for (const Json::Member& member : shards.index.find("weight_map")->members()) {
    if (member.key != "embed.weight") kept.push_back(member);
  }
  shards.index.set("weight_map", Json::object(std::move(kept)));
  const auto checkpoint = shards.open();
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_NE(checkpoint->find("embed.weight"), nullptr);
  ASSERT_EQ(checkpoint->warnings().size(), 1u);
  EXPECT_NE(checkpoint->warnings()[0].find("1 tensors are not listed: embed.weight in model-00001"), std::string::npos);
}

TEST(Checkpoint, UnknownConfigKeyAndWrongTotalAreWarnings) {
  Shards shards;
  Json config = *parse_json(text_of(mini_a() / "config.json"), "config");
  config.set("novelty", 1);
  shards.folder.write("config.json", config.dump());
  shards.index.set("metadata", Json::object({{"total_size", 1}}));
  const auto checkpoint = shards.open();
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  ASSERT_EQ(checkpoint->warnings().size(), 2u);
  EXPECT_NE(checkpoint->warnings()[0].find("novelty"), std::string::npos);
  EXPECT_NE(checkpoint->warnings()[1].find("total_size is 1"), std::string::npos);
}

TEST(ShardIndex, ShardMustLieBesideTheIndex) {
  for (const char* shard : {"../model.safetensors", "/etc/passwd", "a/b", "", ".", "..", "a\\\\b", "a\\u0000b"}) {
    const auto index = parse_shard_index(fmt::format(R"({{"weight_map":{{"w":"{}"}}}})", shard), "i");
    ASSERT_FALSE(index.has_value()) << shard;
    EXPECT_NE(index.error().message.find("i: tensor w is in "), std::string::npos);
  }
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"w":1}})", R"({"weight_map":{"w":"a","w":"a"}})"}) {
    EXPECT_FALSE(parse_shard_index(text, "i").has_value()) << text;
  }
}

TEST(ShardIndex, MetadataNestsEightLevelsDeepAndNoDeeper) {
  const auto index_with = [](std::string_view value) {
    return parse_shard_index(fmt::format(R"({{"metadata":{{"note":{}}},"weight_map":{{"t":"f"}}}})", value), "i");
  };
  EXPECT_TRUE(index_with("[[[[[[1]]]]]]").has_value());
  EXPECT_FALSE(index_with("[[[[[[[1]]]]]]]").has_value());
}

TEST(ShardIndex, WrittenIndexReadsBack) {
  const auto index = parse_shard_index(shard_index_text({{"b", "two"}, {"a", "one"}, {"c", "one"}}, 77), "i");
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->total_size, 77);
  EXPECT_EQ(index->shards, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(index->entries[1].tensor, "b");
  EXPECT_EQ(index->shard_of(index->entries[1]), "two");
}

}  // namespace
}  // namespace cachalot::checkpoint_test
