// SPDX-License-Identifier: Apache-2.0
#include "cli/options/draft_options.h"

#include <gtest/gtest.h>

#include "checkpoint/test_checkpoint.h"
#include "cli/run_command.h"
#include "cli/test_command.h"
#include "engine/test_generate.h"

namespace cachalot::draft_options_test {
namespace {

Ran run_mini(std::vector<std::string> more) {
  std::vector<std::string> line = {"run",   "--model",       CACHALOT_BUILD_DIR "/golden/mini-a",
                                   "--ids", "3,40,77",       "--max-tokens",
                                   "24",    "--temperature", "0.9"};
  line.insert(line.end(), more.begin(), more.end());
  return run_line(line, {add_run_command});
}

TEST(DraftOption, ChangesNoTextAndIsToldInStats) {
  const Ran off = run_mini({"--draft", "off", "--stats"});
  ASSERT_EQ(off.exit_code, 0) << off.error;
  EXPECT_EQ(off.error.find("drafts"), std::string::npos) << off.error;
  for (const char* how : {"auto", "1", "5"}) {
    const Ran ran = run_mini({"--draft", how, "--stats"});
    EXPECT_EQ(ran.exit_code, 0) << ran.error;
    EXPECT_EQ(ran.out, off.out) << how;
    EXPECT_NE(ran.error.find("drafts accepted a round"), std::string::npos) << ran.error;
  }
  const Ran json = run_mini({"--draft", "3", "--stats", "--json"});
  EXPECT_NE(json.out.find(R"("drafts":{"drafted_rounds":)"), std::string::npos) << json.out;
}

TEST(DraftOption, MoreThanTheTrainedBlockIsRefused) {
  const Ran ran = run_mini({"--draft", "6"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.error.find("--draft 6: the model was trained to draft 5 tokens"), std::string::npos) << ran.error;
}

TEST(DraftOption, TakesOffAutoOrANumberAndNothingElse) {
  for (const char* wrong : {"0", "-1", "on", "", "2.5", "5x"}) {
    const Ran ran = run_mini({"--draft", wrong});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_NE(ran.error.find("expected off, auto, or a number from 1 to the model's block"), std::string::npos)
        << ran.error;
  }
}

TEST(DraftOption, ANumberForAModelWithoutDraftStagesIsRefused) {
  Config none;
  EXPECT_TRUE(check_draft_count({.draft = "auto"}, none));
  const Status refused = check_draft_count({.draft = "3"}, none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--draft 3: this model has no draft stages; use --draft off");
}

TEST(DraftOption, AModelWithoutDraftStagesRunsWithoutDraftsUnlessANumberWasAsked) {
  EditedCheckpoint plain;
  plain.config.find("text_config")
      ->set("num_nextn_predict_layers", 0)
      .set("compress_ratios", Json::array({0, 0, 2, 2, 2, 2, 1, 1, 1, 1}));  // without those of the stages
  std::erase_if(plain.tensors, [](const TensorData& t) { return t.name.starts_with("mtp."); });
  ASSERT_TRUE(plain.open());
  const auto run = [&](const char* how) {
    return run_line({"run", "--model", plain.path().string(), "--tokenizer", (mini_a() / "tokenizer.json").string(),
                     "--ids", "3,40", "--max-tokens", "2", "--draft", how},
                    {add_run_command});
  };
  const Ran automatic = run("auto");
  EXPECT_EQ(automatic.exit_code, 0) << automatic.error;
  const Ran number = run("3");
  EXPECT_EQ(number.exit_code, 2);
  EXPECT_EQ(number.out, "");
  EXPECT_NE(number.error.find("--draft 3: this model has no draft stages"), std::string::npos) << number.error;
}

TEST(DraftOption, DoesNotMixWithThePublishedSlot) {
  const Ran ran = run_mini({"--draft", "2", "--index-keys", "published-slot"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.error.find("goes token by token"), std::string::npos) << ran.error;
  EXPECT_EQ(run_mini({"--index-keys", "published-slot"}).exit_code, 0);
}

TEST(DraftOption, CountsAreToldPlaceByPlace) {
  EXPECT_EQ(draft_text({}), "");
  DraftCounts counts{.drafted_rounds = 4, .plain_rounds = 1, .proposed = {4, 4}, .accepted = {3, 1}};
  EXPECT_EQ(draft_text(counts),
            "1.00 drafts accepted a round, in 4 rounds with drafts and 1 without; by place 0.75 0.25");
  counts.add({.drafted_rounds = 1, .plain_rounds = 2, .proposed = {1, 1, 1}, .accepted = {1, 1, 0}});
  EXPECT_EQ(draft_json(counts).dump(),
            R"({"drafted_rounds":5,"plain_rounds":3,"proposed":[5,5,1],"accepted":[4,2,0]})");
}

}  // namespace
}  // namespace cachalot::draft_options_test
