// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"

namespace cachalot::make_checkpoint_threads_test {
namespace {

// With a vocabulary so large that threads share its tables.
std::filesystem::path made_by(const TestFolder& folder, int threads) {
  Json config = *parse_json(text_of(mini_a() / "config.json"), "config");
  config.find("text_config")->set("vocab_size", 20'001);
  const std::filesystem::path out = folder.path() / fmt::format("{}", threads);
  const auto made = make_checkpoint({.config = folder.write("config.json", config.dump()),
                                     .out = out,
                                     .threads = threads,
                                     .plants = {.ties = true},
                                     .sparse = SparseFill{.layers = {0}, .engram_rows = {}}});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return out / "model-00001-of-00001.safetensors";
}

TEST(MakeCheckpointThreads, AnyNumberOfThreadsMakesTheSameBytes) {
  const TestFolder folder;
  const std::string one = text_of(made_by(folder, 1));
  EXPECT_GT(one.size(), 10'000'000u);
  for (const int threads : {2, 5}) EXPECT_TRUE(text_of(made_by(folder, threads)) == one) << threads;
}

TEST(MakeCheckpointThreads, StopsBetweenTensorsWithoutAnIndex) {
  const TestFolder folder;
  const auto stopped = make_checkpoint({.config = mini_a() / "config.json",
                                        .out = folder.path(),
                                        .threads = 3,
                                        .progress = [](std::int64_t done, std::int64_t) { return done < 100'000; }});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, Errc::stopped);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model.safetensors.index.json"));
}

}  // namespace
}  // namespace cachalot::make_checkpoint_threads_test
