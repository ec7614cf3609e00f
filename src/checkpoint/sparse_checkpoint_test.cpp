// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "base/primes.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"

namespace cachalot::sparse_checkpoint_test {
namespace {

std::int64_t disk_bytes(const std::filesystem::path& folder) {
  std::int64_t all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat status = {};
    check(::stat(entry.path().c_str(), &status) == 0, "the file is there");
    all += std::int64_t{status.st_blocks} * 512;
  }
  return all;
}

Expected<MadeCheckpoint> make(const std::filesystem::path& out, std::optional<SparseFill> sparse, int threads = 2) {
  return make_checkpoint(
      {.config = mini_a() / "config.json", .out = out, .seed = 5, .threads = threads, .sparse = std::move(sparse)});
}

std::span<const std::byte> data_of(const TensorInfo& tensor) {
  return {tensor.data, static_cast<std::size_t>(tensor.bytes)};
}
bool zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
}

TEST(SparseCheckpoint, HasEveryTensorAndTakesDiskForItsHeadersOnly) {
  const TestFolder folder;
  const auto made = make(folder.path(), SparseFill{});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->tensors, 1016);
  EXPECT_EQ(made->written, 0);
  EXPECT_GT(std::filesystem::file_size(folder.path() / "model-00001-of-00001.safetensors"),
            static_cast<std::uintmax_t>(made->bytes));
  EXPECT_LT(disk_bytes(folder.path()), 400'000);  // of 5 MB
  const auto checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_TRUE(check_tensors(*checkpoint).value().empty());
  EXPECT_EQ(checkpoint->bytes(), made->bytes);
  for (const TensorInfo& tensor : checkpoint->tensors()) EXPECT_TRUE(zero(data_of(tensor))) << tensor.name;
}

TEST(SparseCheckpoint, FilledLayersAndWhatAForwardNeedsAreThoseOfTheWhole) {
  const TestFolder all, some;
  ASSERT_TRUE(make(all.path(), std::nullopt).has_value());
  const auto made = make(some.path(), SparseFill{.layers = {4, 1, 11}, .engram_rows = {}}, 1);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const auto want = Checkpoint::open(all.path()), got = Checkpoint::open(some.path());
  std::int64_t written = 0;
  for (const ExpectedTensor& tensor : expected_tensors(got->config())) {
    const bool table = tensor.name.find("engram.embed.") != tensor.name.npos;
    const bool everywhere = tensor.name.find("norm.weight") != tensor.name.npos || tensor.role == TensorRole::norm ||
                            tensor.name.find(".hc_") != tensor.name.npos;
    const bool outside = tensor.name == "embed.weight" || tensor.name == "head.weight" || tensor.name == "norm.weight";
    const bool chosen = tensor.name.starts_with("layers.1.") || tensor.name.starts_with("layers.4.") ||
                        tensor.name.starts_with("mtp.1.");
    const bool vision = tensor.part == Part::vision;
    const auto bytes = data_of(*got->find(tensor.name));
    if (!vision && !table && (everywhere || outside || chosen)) {
      EXPECT_TRUE(std::ranges::equal(bytes, data_of(*want->find(tensor.name)))) << tensor.name;
      written += tensor.bytes();
    } else {
      EXPECT_TRUE(zero(bytes)) << tensor.name;
    }
  }
  EXPECT_EQ(made->written, written);
  EXPECT_LT(written, made->bytes * 2 / 3);
}

TEST(SparseCheckpoint, EngramRowsAreThoseOfTheWholeAndTheOthersZero) {
  const TestFolder all, some;
  ASSERT_TRUE(make(all.path(), std::nullopt).has_value());
  const auto want = Checkpoint::open(all.path());
  const std::int64_t last = want->config().engram_num_embeddings[1] - 1;
  const std::vector<std::vector<std::int64_t>> rows = {{0, 5, 6}, {last}};
  const auto made = make(some.path(), SparseFill{.layers = {}, .engram_rows = rows});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->written, 4 * (64 + 2));
  const auto got = Checkpoint::open(some.path());
  for (std::size_t table = 0; table < 2; ++table) {
    for (const char* part : {"weight", "scale"}) {
      const std::string name = fmt::format("layers.{}.engram.embed.{}", table == 0 ? 1 : 4, part);
      const auto mine = data_of(*got->find(name)), whole = data_of(*want->find(name));
      const auto width = static_cast<std::size_t>(got->find(name)->shape[1]);
      for (std::size_t row = 0; row * width < mine.size(); ++row) {
        const auto bytes = mine.subspan(row * width, width);
        const bool filled = std::ranges::find(rows[table], static_cast<std::int64_t>(row)) != rows[table].end();
        EXPECT_TRUE(filled ? std::ranges::equal(bytes, whole.subspan(row * width, width)) : zero(bytes)) << name << row;
      }
    }
  }
  EXPECT_TRUE(zero(data_of(*got->find("embed.weight"))));
}

TEST(SparseCheckpoint, WhatIsNotThereCantBeFilled) {
  const TestFolder folder;
  const auto error = [&](SparseFill fill) {
    const auto made = make(folder.path(), std::move(fill));
    return made ? "no error" : fmt::format("{} {}", made.error().code == Errc::usage, made.error().message);
  };
  EXPECT_EQ(error({.layers = {13}, .engram_rows = {}}),
            "true there is no layer 13 to fill: the shape has layers 0 to 12, draft stages being the last");
  EXPECT_NE(error({.layers = {-1}, .engram_rows = {}}).find("true there is no layer -1"), std::string::npos);
  EXPECT_EQ(error({.layers = {}, .engram_rows = {{}}}), "true Engram rows for 1 layers, but the shape has 2");
  EXPECT_NE(error({.layers = {}, .engram_rows = {{}, {-1}}}).find("true there is no Engram row -1"), std::string::npos);
  const std::int64_t rows = Checkpoint::open(mini_a())->config().engram_num_embeddings[1];
  EXPECT_EQ(
      error({.layers = {}, .engram_rows = {{}, {rows}}}),
      fmt::format("true there is no Engram row {} to fill: the table of layer 4 has rows 0 to {}", rows, rows - 1));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Engram tables of 145 TB, which no disk has room for.
Json vast_config() {
  Json config = *parse_json(text_of(mini_a() / "config.json"), "config");
  constexpr std::int64_t vocabulary = std::int64_t{1} << 31, heads = 170;
  std::vector<Json> rows;
  std::uint64_t prime = vocabulary - 1;
  for (int layer = 0; layer < 2; ++layer) {
    std::int64_t sum = 0;
    for (std::int64_t column = 0; column < 3 * heads; ++column) {
      prime = prime_above(prime);
      sum += static_cast<std::int64_t>(prime);
    }
    rows.push_back(sum);
  }
  config.find("text_config")
      ->set("engram_vocab_size", vocabulary)
      .set("engram_n_heads", heads)
      .set("engram_num_embeddings", Json::array(std::move(rows)));
  return config;
}

TEST(SparseCheckpoint, SpaceIsWantedForWhatIsWrittenAlone) {
  const TestFolder folder;
  MakeCheckpointOptions options{.config = folder.write("config.json", vast_config().dump()),
                                .out = folder.path() / "a"};
  const auto whole = make_checkpoint(options);
  ASSERT_FALSE(whole.has_value());
  EXPECT_EQ(whole.error().code, Errc::io);
  EXPECT_NE(whole.error().message.find("bytes are free, what is to be written needs 14"), std::string::npos)
      << whole.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(options.out));
  // Sparse, it fits the disk; but a table of 70 TB may be more than a file of this file system can have.
  options.sparse = SparseFill{};
  const auto sparse = make_checkpoint(options);
  if (sparse) {
    EXPECT_LT(disk_bytes(options.out), 1'000'000);
    EXPECT_TRUE(Checkpoint::open(options.out).has_value());
  } else {
    EXPECT_NE(sparse.error().message.find("File too large"), std::string::npos) << sparse.error().message;
    EXPECT_NE(sparse.error().message.find("a file system (or `ulimit -f`) that takes larger files is needed"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace cachalot::sparse_checkpoint_test
