// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/make_checkpoint.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/test_checkpoint.h"
#include "numerics/bf16.h"
#include "tensor/weight.h"

namespace cachalot::make_checkpoint_test {
namespace {

Expected<MadeCheckpoint> make(const std::filesystem::path& out, std::uint64_t seed = 1, std::int64_t shards = 0,
                              bool force = false) {
  return make_checkpoint({.config = mini_a() / "config.json",
                          .out = out,
                          .tokenizer = {},
                          .seed = seed,
                          .shards = shards,
                          .force = force,
                          .progress = {}});
}

bool same_tensors(const Checkpoint& a, const Checkpoint& b) {
  return a.tensors().size() == b.tensors().size() && std::ranges::all_of(a.tensors(), [&](const TensorInfo& t) {
           const TensorInfo* other = b.find(t.name);
           return other && other->shape == t.shape &&
                  std::memcmp(other->data, t.data, static_cast<std::size_t>(t.bytes)) == 0;
         });
}

// Of a matrix's values.
double deviation(const Weight& weight) {
  double sum = 0;
  for (std::int64_t row = 0; row < weight.out; ++row) {
    for (std::int64_t column = 0; column < weight.in; ++column) sum += std::pow(weight.value(row, column), 2);
  }
  return std::sqrt(sum / static_cast<double>(weight.out * weight.in));
}

TEST(MakeCheckpoint, OpensAndHasEveryTensorOfItsConfig) {
  const TestFolder folder;
  const auto made = make(folder.path());
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->tensors, 1016);
  EXPECT_EQ(made->shards, 1);
  const auto checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_TRUE(checkpoint->warnings().empty());
  const auto unused = check_tensors(*checkpoint);
  ASSERT_TRUE(unused.has_value()) << unused.error().message;
  EXPECT_TRUE(unused->empty());
  EXPECT_EQ(checkpoint->bytes(), made->bytes);
  EXPECT_EQ(text_of(folder.path() / "config.json"), text_of(mini_a() / "config.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "tokenizer.json"));
}

TEST(MakeCheckpoint, SeedDecidesEveryTensorAndShardsDoNot) {
  const TestFolder one, again, sharded, other;
  ASSERT_TRUE(make(one.path(), 7).has_value());
  ASSERT_TRUE(make(again.path(), 7).has_value());
  ASSERT_TRUE(make(sharded.path(), 7, 5).has_value());
  ASSERT_TRUE(make(other.path(), 8).has_value());
  EXPECT_EQ(text_of(one.path() / "model-00001-of-00001.safetensors"),
            text_of(again.path() / "model-00001-of-00001.safetensors"));
  const auto first = Checkpoint::open(one.path()), second = Checkpoint::open(sharded.path()),
             third = Checkpoint::open(other.path());
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->shards().size(), 5u);
  EXPECT_TRUE(same_tensors(*first, *second));
  for (const TensorInfo& tensor : first->tensors()) {
    if (tensor.bytes < 16) continue;
    EXPECT_NE(std::memcmp(tensor.data, third->find(tensor.name)->data, static_cast<std::size_t>(tensor.bytes)), 0)
        << tensor.name;
  }
}

TEST(MakeCheckpoint, ShardsAreOfAboutEqualSizeAndNoneIsEmpty) {
  const TestFolder folder;
  ASSERT_TRUE(make(folder.path(), 1, 4).has_value());
  for (int shard = 1; shard <= 4; ++shard) {
    const auto bytes =
        std::filesystem::file_size(folder.path() / fmt::format("model-{:05}-of-00004.safetensors", shard));
    EXPECT_NEAR(static_cast<double>(bytes), 1.27e6, 2.5e5) << shard;
  }
  const TestFolder many;
  ASSERT_TRUE(make(many.path(), 1, 1016).has_value());
  EXPECT_TRUE(Checkpoint::open(many.path()).has_value());
  const auto too_many = make(many.path(), 1, 1017, true);
  ASSERT_FALSE(too_many.has_value());
  EXPECT_EQ(too_many.error().message, "1017 shards for only 1016 tensors");
}

TEST(MakeCheckpoint, LinearsKeepTheSizeOfTheirInput) {
  const TestFolder folder;
  ASSERT_TRUE(make(folder.path()).has_value());
  const auto checkpoint = Checkpoint::open(folder.path());
  const auto weight = [&](const std::string& name, WeightFormat format, std::int64_t out, std::int64_t in) {
    return Weight{format, out, in, checkpoint->find(name + ".weight")->data,
                  reinterpret_cast<const std::uint8_t*>(checkpoint->find(name + ".scale")->data)};
  };
  // Random scales of few blocks move the deviation: 24 blocks leave it within a fifth or so.
  EXPECT_NEAR(deviation(weight("layers.1.engram.wkv", WeightFormat::e4m3_block32, 640, 384)) * std::sqrt(384), 1.0,
              0.1);
  EXPECT_NEAR(deviation(weight("layers.2.attn.wq_b", WeightFormat::e4m3_block32, 256, 64)) * std::sqrt(64), 1.0, 0.3);
  EXPECT_NEAR(deviation(weight("layers.0.ffn.experts.2.w1", WeightFormat::e2m1_row32, 64, 128)) * std::sqrt(128), 1.0,
              0.1);
  EXPECT_NEAR(deviation(weight("layers.0.ffn.experts.2.w2", WeightFormat::e2m1_row32, 128, 64)) * std::sqrt(64), 1.0,
              0.1);
}

TEST(MakeCheckpoint, NoValueIsNanAndCodesAreVaried) {
  const TestFolder folder;
  ASSERT_TRUE(make(folder.path()).has_value());
  const auto checkpoint = Checkpoint::open(folder.path());
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    const std::span bytes(tensor.data, static_cast<std::size_t>(tensor.bytes));
    std::size_t nan = 0;
    if (tensor.dtype == DType::f32 || tensor.dtype == DType::bf16) {
      for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(bytes_of(*tensor.dtype))) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &bytes[i], static_cast<std::size_t>(bytes_of(*tensor.dtype)));
        nan += !std::isfinite(std::bit_cast<float>(tensor.dtype == DType::bf16 ? bits << 16 : bits));
      }
    } else if (tensor.dtype == DType::e4m3) {
      nan = static_cast<std::size_t>(
          std::ranges::count_if(bytes, [](std::byte b) { return (b & std::byte{0x7F}) == std::byte{0x7F}; }));
    } else if (tensor.dtype == DType::e8m0) {
      nan = static_cast<std::size_t>(std::ranges::count(bytes, std::byte{0xFF}));
    }
    EXPECT_EQ(nan, 0u) << tensor.name;
    if (tensor.bytes >= 64) {
      EXPECT_GT(std::set<std::byte>(bytes.begin(), bytes.end()).size(), 2u) << tensor.name;
    }
  }
}

TEST(MakeCheckpoint, FolderWithFilesIsKeptUnlessForced) {
  const TestFolder folder;
  folder.write("notes.txt", "mine");
  const auto refused = make(folder.path());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::usage);
  EXPECT_NE(refused.error().message.find("is not empty; --force"), std::string::npos);
  ASSERT_TRUE(make(folder.path(), 1, 3, true).has_value());
  ASSERT_TRUE(make(folder.path(), 1, 2, true).has_value());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model-00003-of-00003.safetensors"));
  EXPECT_TRUE(Checkpoint::open(folder.path()).has_value());
}

TEST(MakeCheckpoint, StopsWhenToldAndCountsUpToTheEnd) {
  const TestFolder folder;
  MakeCheckpointOptions options{.config = mini_a() / "config.json",
                                .out = folder.path() / "a",
                                .tokenizer = mini_a() / "tokenizer.json",
                                .progress = {}};
  std::int64_t last = 0, total = 0;
  options.progress = [&](std::int64_t done, std::int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
    return true;
  };
  ASSERT_TRUE(make_checkpoint(options).has_value());
  EXPECT_EQ(last, total);
  EXPECT_EQ(text_of(folder.path() / "a" / "tokenizer.json"), text_of(mini_a() / "tokenizer.json"));
  options.out = folder.path() / "b";
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  const auto stopped = make_checkpoint(options);
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, Errc::stopped);
}

TEST(MakeCheckpoint, BadInputsAreNamed) {
  const TestFolder folder;
  MakeCheckpointOptions options{
      .config = folder.path() / "absent.json", .out = folder.path() / "out", .tokenizer = {}, .progress = {}};
  EXPECT_NE(make_checkpoint(options).error().message.find("absent.json"), std::string::npos);
  options.config = folder.write("bad.json", "{}");
  EXPECT_NE(make_checkpoint(options).error().message.find("bad.json: key \"model_type\" is missing"),
            std::string::npos);
  options.config = mini_a() / "config.json";
  options.tokenizer = folder.path() / "absent.json";
  EXPECT_NE(make_checkpoint(options).error().message.find("absent.json"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options.out));
  options.tokenizer.clear();
  options.out = folder.write("file", "x");
  EXPECT_NE(make_checkpoint(options).error().message.find("file"), std::string::npos);
}

}  // namespace
}  // namespace cachalot::make_checkpoint_test
