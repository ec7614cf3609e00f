// SPDX-License-Identifier: Apache-2.0
#include "engine/model_files.h"

#include <gtest/gtest.h>

#include "checkpoint/test_checkpoint.h"

namespace cachalot::model_files_test {
namespace {

TEST(ModelFiles, OfAFolderAreCountedAndMeasuredWithoutOpeningThem) {
  const auto files = look_at_model(mini_a());
  ASSERT_TRUE(files) << files.error().message;
  const auto checkpoint = Checkpoint::open(mini_a());
  EXPECT_EQ(files->shards, static_cast<std::int64_t>(checkpoint->shards().size()));
  EXPECT_TRUE(files->complete());
  EXPECT_TRUE(files->indexed);
  EXPECT_GT(files->shard_bytes, checkpoint->bytes());  // their headers
  EXPECT_LT(files->shard_bytes, checkpoint->bytes() * 11 / 10);
  EXPECT_EQ(files->tokenizer_bytes, static_cast<std::int64_t>(text_of(mini_a() / "tokenizer.json").size()));
}

TEST(ModelFiles, OneFileNeedsNoIndex) {
  EditedCheckpoint edited;
  ASSERT_TRUE(edited.open());
  const auto files = look_at_model(edited.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->shards, 1);
  EXPECT_TRUE(files->complete());
  EXPECT_FALSE(files->indexed);
  EXPECT_EQ(files->tokenizer_bytes, 0);
}

TEST(ModelFiles, AConfigByItselfIsEnoughToPlanAndNotToOpen) {
  const auto files = look_at_model(mini_a() / "config.json");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->shards, 0);
  EXPECT_FALSE(files->complete());
  const TestFolder folder;
  folder.write("config.json", text_of(mini_a() / "config.json"));
  EXPECT_EQ(look_at_model(folder.path())->shards, 0);
}

TEST(ModelFiles, ShardsThatAreListedAndNotThereAreNamed) {
  const TestFolder folder;
  folder.write("config.json", text_of(mini_a() / "config.json"));
  folder.write("model.safetensors.index.json", text_of(mini_a() / "model.safetensors.index.json"));
  const auto files = look_at_model(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_GT(files->shards, 0);
  EXPECT_EQ(static_cast<std::int64_t>(files->absent.size()), files->shards);
  EXPECT_FALSE(files->complete());
  EXPECT_EQ(files->shard_bytes, 0);
}

TEST(ModelFiles, WhatCannotBeReadIsAnErrorThatNamesTheFile) {
  const TestFolder folder;
  const auto error = [&] { return look_at_model(folder.path()).error(); };
  EXPECT_EQ(error().code, Errc::missing);
  EXPECT_NE(error().message.find("config.json"), std::string::npos);
  folder.write("config.json", "{");
  EXPECT_EQ(error().code, Errc::format);
  folder.write("config.json", text_of(mini_a() / "config.json"));
  folder.write("model.safetensors.index.json", "[]");
  EXPECT_EQ(error().code, Errc::format);
  EXPECT_NE(error().message.find("index.json"), std::string::npos);
  EXPECT_EQ(look_at_model(folder.path() / "nothing").error().code, Errc::missing);
}

TEST(ModelFiles, AFolderIsOpenedByTheTextsThatWereReadBefore) {
  const TestFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(mini_a())) {
    if (entry.is_regular_file()) std::filesystem::copy_file(entry.path(), folder.path() / entry.path().filename());
  }
  auto files = look_at_model(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  for (const char* text : {"config.json", "model.safetensors.index.json"}) {
    ASSERT_TRUE(std::filesystem::remove(folder.path() / text));
  }
  const auto checkpoint = open_checkpoint(*files);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->shards().size(), static_cast<std::size_t>(files->shards));
  EXPECT_FALSE(files->texts.has_value()) << "they need memory that loading wants";
}

TEST(ModelFiles, AConfigByItselfIsNoFolderToOpen) {
  auto files = look_at_model(mini_a() / "config.json");
  ASSERT_TRUE(files) << files.error().message;
  const auto checkpoint = open_checkpoint(*files);
  ASSERT_FALSE(checkpoint);
  EXPECT_NE(checkpoint.error().message.find("config.json"), std::string::npos) << checkpoint.error().message;
}

}  // namespace
}  // namespace cachalot::model_files_test
