// SPDX-License-Identifier: Apache-2.0
#include "cli/make_checkpoint_command.h"

#include <gtest/gtest.h>

#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"
#include "cli/inspect_command.h"
#include "cli/test_command.h"

namespace cachalot::make_checkpoint_command_test {
namespace {

Ran run(std::vector<std::string> arguments) {
  return run_line(std::move(arguments), {add_inspect_command, add_make_checkpoint_command});
}

TEST(MakeCheckpointCommand, WritesWhatInspectAccepts) {
  const TestFolder folder;
  const std::string out = (folder.path() / "model").string();
  const std::vector<std::string> arguments = {"make-checkpoint",
                                              "--config",
                                              (mini_a() / "config.json").string(),
                                              "--out",
                                              out,
                                              "--seed",
                                              "3",
                                              "--shards",
                                              "2",
                                              "--tokenizer",
                                              (mini_a() / "tokenizer.json").string()};
  const Ran made = run(arguments);
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_NE(made.out.find("1016 tensors, 4.8 MiB, in 2 shards"), std::string::npos) << made.out;
  EXPECT_EQ(run({"inspect", out}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/tokenizer.json"));
  const Ran again = run(arguments);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.error.find("--force"), std::string::npos);
}

TEST(MakeCheckpointCommand, BadOptionsAreUsageErrors) {
  EXPECT_EQ(run({"make-checkpoint"}).exit_code, 2);
  for (const char* shards : {"0", "-1", "x", "100000"}) {
    EXPECT_EQ(run({"make-checkpoint", "--config", "c", "--out", "o", "--shards", shards}).exit_code, 2) << shards;
  }
  EXPECT_EQ(run({"make-checkpoint", "--config", "/absent/config.json", "--out", "/absent/out"}).exit_code, 1);
  EXPECT_NE(run({"make-checkpoint", "--help"}).out.find("Examples:\n  cachalot make-checkpoint"), std::string::npos);
}

const std::string mini_config = (mini_a() / "config.json").string();

TEST(MakeCheckpointCommand, ATokenizerOfAnotherModelIsRefusedBeforeAnythingIsWritten) {
  const TestFolder folder;
  const std::string out = (folder.path() / "model").string();
  const Ran ran = run({"make-checkpoint", "--config", mini_config, "--out", out, "--tokenizer",
                       CACHALOT_TEST_DATA "/../../models/prototype/tokenizer.json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.error.find("they are not of the same model"), std::string::npos) << ran.error;
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(MakeCheckpointCommand, ExactlyOneShapeIsWanted) {
  EXPECT_NE(run({"make-checkpoint", "--out", "o"}).error.find("either --shape released or --config FILE"),
            std::string::npos);
  EXPECT_EQ(run({"make-checkpoint", "--out", "o", "--shape", "released", "--config", "c"}).exit_code, 2);
  EXPECT_EQ(run({"make-checkpoint", "--out", "o", "--shape", "mini"}).exit_code, 2);
}

TEST(MakeCheckpointCommand, NothingIsPlantedInHoles) {
  const Ran ran = run({"make-checkpoint", "--out", "o", "--shape", "released", "--plant", "ties"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.error.find("--fill-layers"), std::string::npos) << ran.error;
  for (const char* option : {"--plant", "--fill-layers", "--engram-ids"}) {
    EXPECT_EQ(run({"make-checkpoint", "--out", "o", "--shape", "released", option, ""}).exit_code, 2) << option;
  }
}

TEST(MakeCheckpointCommand, SparseFilledAndPlantedIsWhatTheOptionsSay) {
  const TestFolder folder;
  const std::string out = (folder.path() / "model").string(), again = (folder.path() / "again").string();
  const std::string tokenizer = (mini_a() / "tokenizer.json").string();
  const Ran made = run({"make-checkpoint", "--config", mini_config, "--out", out, "--fill-layers", "1-2,4", "--plant",
                        "clamps,ties", "--engram-ids", "3,4", "--tokenizer", tokenizer, "--threads", "1"});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_NE(made.out.find("1016 tensors, 4.8 MiB, in 1 shard; 2.6 MiB of them written, the rest are holes"),
            std::string::npos)
      << made.out;
  EXPECT_EQ(run({"inspect", out}).exit_code, 0);
  MakeCheckpointOptions options{.config = mini_config, .out = again, .plants = {.ties = true, .clamps = true}};
  options.sparse = SparseFill{.layers = {1, 2, 4}, .engram_rows = {}};
  ASSERT_TRUE(make_checkpoint(options).has_value());
  const auto got = Checkpoint::open(out), want = Checkpoint::open(again);
  for (const TensorInfo& tensor : want->tensors()) {
    const bool same = std::equal(tensor.data, tensor.data + tensor.bytes, got->find(tensor.name)->data);
    EXPECT_EQ(same, tensor.name.find("engram.embed") == tensor.name.npos) << tensor.name;
  }
}

TEST(MakeCheckpointCommand, OptionsThatCantBeMeantAreUsageErrors) {
  const auto error = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"make-checkpoint", "--config", mini_config, "--out", "/absent/out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.error;
    return ran.error;
  };
  EXPECT_NE(error({"--fill-layers", "x"}).find("names no layers"), std::string::npos);
  EXPECT_NE(error({"--fill-layers", "13"}).find("there is no layer 13"), std::string::npos);
  EXPECT_NE(error({"--plant", "ties,weeds"}).find("\"weeds\" can't be planted"), std::string::npos);
  EXPECT_NE(error({"--engram-ids", "1"}).find("without --sparse every row has content"), std::string::npos);
  EXPECT_NE(error({"--sparse", "--engram-ids", "1"}).find("needs --tokenizer"), std::string::npos);
  const std::string tokenizer = (mini_a() / "tokenizer.json").string();
  for (const char* ids : {"497", "-1", "x", "99999999999"}) {
    EXPECT_NE(error({"--sparse", "--engram-ids", ids, "--tokenizer", tokenizer}).find("--engram-ids: "),
              std::string::npos);
  }
  EXPECT_EQ(run({"make-checkpoint", "--config", mini_config, "--out", "/absent/out", "--sparse", "--engram-ids", "1",
                 "--tokenizer", "/absent/tokenizer.json"})
                .exit_code,
            1);
}

}  // namespace
}  // namespace cachalot::make_checkpoint_command_test
