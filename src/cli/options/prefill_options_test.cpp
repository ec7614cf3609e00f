// SPDX-License-Identifier: Apache-2.0
#include "cli/options/prefill_options.h"

#include <gtest/gtest.h>

#include "cli/run_command.h"
#include "cli/test_command.h"
#include "engine/test_generate.h"

namespace cachalot::prefill_options_test {
namespace {

Ran run_mini(std::int64_t prompt, std::vector<std::string> more) {
  std::string ids = "3";
  for (std::int64_t i = 1; i < prompt; ++i) ids += ",40";
  std::vector<std::string> line = {
      "run", "--model", CACHALOT_BUILD_DIR "/golden/mini-a", "--ids", ids, "--max-tokens", "4", "--temperature", "0"};
  line.insert(line.end(), more.begin(), more.end());
  return run_line(line, {add_run_command});
}

TEST(PrefillOption, TellsInStatsWhatWasSaved) {
  const Ran replay = run_mini(300, {"--prefill", "replay", "--stats"});
  EXPECT_EQ(replay.exit_code, 0) << replay.error;
  EXPECT_NE(replay.error.find("prefill replay: layers 6 to 9 on a prompt's last 56 tokens only: 2024 of 3000 "
                              "layer-tokens\n"),
            std::string::npos)
      << replay.error;
  EXPECT_EQ(run_mini(300, {"--stats"}).error.find("layer-tokens"), std::string::npos);
  const Ran json = run_mini(300, {"--prefill", "replay", "--stats", "--json"});
  EXPECT_NE(json.out.find(R"("prefill":{"mode":"replay","layer_tokens":2024,"layer_tokens_exact":3000})"),
            std::string::npos)
      << json.out;
  const Ran exact = run_mini(300, {"--stats", "--json"});
  EXPECT_NE(exact.out.find(R"("prefill":{"mode":"exact","layer_tokens":3000,"layer_tokens_exact":3000})"),
            std::string::npos)
      << exact.out;
}

TEST(PrefillOption, ChangesNothingOfAShortPrompt) {
  EXPECT_EQ(run_mini(56, {"--prefill", "replay", "--json", "--logprobs", "5"}).out,
            run_mini(56, {"--prefill", "exact", "--json", "--logprobs", "5"}).out);
  EXPECT_NE(run_mini(57, {"--prefill", "replay", "--json", "--logprobs", "5"}).out,
            run_mini(57, {"--json", "--logprobs", "5"}).out);
}

TEST(PrefillOption, IsExactOrReplayAndNothingElse) {
  for (const char* wrong : {"", "fast", "Exact", "1"}) {
    const Ran ran = run_mini(3, {"--prefill", wrong});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_NE(ran.error.find("--prefill"), std::string::npos) << ran.error;
  }
}

}  // namespace
}  // namespace cachalot::prefill_options_test
