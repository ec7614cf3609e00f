// SPDX-License-Identifier: Apache-2.0
#include "cli/perplexity_command.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "base/json.h"
#include "checkpoint/test_checkpoint.h"
#include "cli/output/terminal.h"
#include "cli/test_command.h"

namespace cachalot::perplexity_command_test {
namespace {

constexpr std::string_view text =
    "Call me Ishmael. Some years ago, never mind how long precisely, na\xC3\xAFve <think>.\n";

Ran run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "perplexity");
  return run_line(std::move(arguments), {add_perplexity_command});
}

Json json_of(const Ran& ran, int exit_code = 0) {
  EXPECT_EQ(ran.exit_code, exit_code) << ran.error;
  auto json = parse_json(ran.out, "out");
  EXPECT_TRUE(json.has_value()) << ran.out << ran.error;
  return json ? std::move(*json) : Json();
}

std::int64_t whole(const Json& json, std::string_view key) { return json.find(key)->as_int64().value(); }
double real(const Json& json, std::string_view key) { return json.find(key)->as_double().value(); }

// $CACHALOT_MODEL while it lives.
class NamedModel {
 public:
  explicit NamedModel(const std::string& model) { ::setenv("CACHALOT_MODEL", model.c_str(), 1); }
  NamedModel(const NamedModel&) = delete;
  NamedModel& operator=(const NamedModel&) = delete;
  ~NamedModel() { ::unsetenv("CACHALOT_MODEL"); }
};

class PerplexityCommand : public testing::Test {
 protected:
  const std::string model_ = mini_a().string();
  const TestFolder folder_;
  const std::string file_ = folder_.write("text.txt", text).string();
};

TEST_F(PerplexityCommand, TellsWhatItScoredInTwoLines) {
  const Ran ran = run({model_, file_, "--context", "16"});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  EXPECT_EQ(ran.out.find("bits per byte "), 0u) << ran.out;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2) << ran.out;
  for (const std::string& part :
       {std::string("   perplexity "), std::string(" per token, "), fmt::format(" tokens of {} bytes (", text.size()),
        std::string(" tokens/s), windows of 16 tokens\n")}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << " in: " << ran.out;
  }
}

TEST_F(PerplexityCommand, JsonHasEveryFigureAndTheyAgree) {
  const Json json = json_of(run({model_, file_, "--context", "16", "--json"}));
  EXPECT_TRUE(*json.find("complete")->as_bool());
  EXPECT_EQ(whole(json, "bytes"), static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(whole(json, "context"), 16);
  EXPECT_EQ(whole(json, "tokens"), whole(json, "tokens_to_score"));
  EXPECT_GE(whole(json, "tokens_per_second"), 0);
  EXPECT_GT(real(json, "seconds"), 0);
  const double nats = real(json, "nats"), tokens = real(json, "tokens");
  EXPECT_NEAR(real(json, "bits_per_byte"), nats / std::log(2.0) / static_cast<double>(text.size()), 1e-9);
  EXPECT_NEAR(real(json, "nats_per_token"), nats / tokens, 1e-9);
  EXPECT_NEAR(std::log(real(json, "perplexity")), nats / tokens, 1e-9);
  EXPECT_EQ(json.members().size(), 13u);
  const std::string help = run({"--help"}).out;
  for (const Json::Member& member : json.members()) EXPECT_NE(help.find(member.key), std::string::npos) << member.key;
}

TEST_F(PerplexityCommand, TheModelMayBeNamedInThreeWays) {
  const auto nats = [](const Ran& ran) { return json_of(ran).find("nats")->dump(); };
  const std::string want = nats(run({model_, file_, "--json"}));
  EXPECT_EQ(nats(run({"--model", model_, file_, "--json"})), want);
  const NamedModel named(model_);
  EXPECT_EQ(nats(run({file_, "--json"})), want);
  const Ran twice = run({model_, file_, "--model", model_});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_NE(twice.error.find("named twice"), std::string::npos) << twice.error;
}

TEST_F(PerplexityCommand, APromptIsRunAsSaidAndOnlyWhatFollowsItIsScored) {
  const Json all = json_of(run({model_, file_, "--json"}));
  const std::int64_t tokens = whole(all, "tokens");
  ASSERT_GT(tokens, 5);
  const Json some = json_of(run({model_, file_, "--json", "--prompt", "4"}));
  EXPECT_EQ(whole(some, "tokens"), tokens - 3);
  EXPECT_EQ(*some.find("prefill"), Json("exact"));
  const Ran nothing = run({model_, file_, "--prefill", "replay"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.error.find("--prompt N"), std::string::npos) << nothing.error;
  // No longer than a window, so that a replay is exact.
  EXPECT_EQ(json_of(run({model_, file_, "--json", "--prompt", "4", "--prefill", "replay"})).find("nats")->dump(),
            some.find("nats")->dump());
  EXPECT_NE(
      run({model_, file_, "--prompt", "4", "--prefill", "replay"}).out.find(", the first 4 a prompt (replay prefill)"),
      std::string::npos);
  const Ran refused = run({model_, file_, "--context", "16", "--prompt", "16"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.error.find("a prompt of 16 tokens: expected 1 to 15"), std::string::npos) << refused.error;
}

TEST_F(PerplexityCommand, ADashIsStandardInput) {
  const GivenInput input(text);
  EXPECT_EQ(json_of(run({model_, "-", "--json"})).find("nats")->dump(),
            json_of(run({model_, file_, "--json"})).find("nats")->dump());
}

TEST_F(PerplexityCommand, ChunkAndThreadsLeaveTheFigureAlone) {
  const std::string want = json_of(run({model_, file_, "--json"})).find("nats")->dump();
  const Json other = json_of(run({model_, file_, "--json", "--chunk", "3", "--threads", "1"}));
  EXPECT_EQ(other.find("nats")->dump(), want);
  for (const auto& option : std::vector<std::vector<std::string>>{{"--context", "5"}, {"--numerics", "f32"}}) {
    const Json changed = json_of(run({model_, file_, "--json", option[0], option[1]}));
    EXPECT_NE(changed.find("nats")->dump(), want) << option[0];
  }
}

TEST_F(PerplexityCommand, ALimitScoresTheFirstTokensAndCountsTheirBytes) {
  const Json all = json_of(run({model_, file_, "--json"}));
  const Json some = json_of(run({model_, file_, "--json", "--limit", "4"}));
  EXPECT_EQ(whole(some, "tokens"), 4);
  EXPECT_TRUE(*some.find("complete")->as_bool());
  EXPECT_GE(whole(some, "bytes"), 4);
  EXPECT_LT(whole(some, "bytes"), whole(all, "bytes"));
  EXPECT_LT(real(some, "nats"), real(all, "nats"));
  EXPECT_EQ(whole(json_of(run({model_, file_, "--json", "--limit", "99999"})), "tokens"), whole(all, "tokens"));
}

TEST_F(PerplexityCommand, WhatCannotBeScoredIsOneSentenceThatNamesIt) {
  const auto expect = [](const Ran& ran, int exit_code, std::string_view part) {
    EXPECT_EQ(ran.exit_code, exit_code) << ran.error;
    EXPECT_NE(ran.error.find(part), std::string::npos) << part << " in: " << ran.error;
    EXPECT_TRUE(ran.out.empty()) << ran.out;
  };
  const std::string missing = (folder_.path() / "none").string();
  expect(run({}), 2, "give a file");
  expect(run({""}), 2, "empty text");
  expect(run({model_, missing}), 1, missing + ": No such file");
  expect(run({missing, file_}), 1, "model " + missing);
  expect(run({model_}), 1, "is a folder, expected a file of text");
  expect(run({model_, model_}), 1, "is a folder, expected a file of text");
  const std::string empty = folder_.write("empty.txt", "").string();
  expect(run({model_, empty}), 1, empty + ": there is nothing to score: the text is empty");
  const std::string latin = folder_.write("latin.txt", "caf\xE9").string();
  expect(run({model_, latin}), 1, latin + ": text to encode: byte 3 (0xe9) is not UTF-8");
  expect(run({model_, file_, "--context", "513"}), 2, "--context: windows of 513 tokens: expected 2 to 512");
  expect(run({model_, file_, "--context", "1"}), 2, "--context");
  expect(run({model_, file_, "--limit", "0"}), 2, "--limit");
  expect(run({model_, file_, "--memory", "1MiB"}), 1, "not enough memory");
}

TEST_F(PerplexityCommand, AScoreThatIsIncompleteIsMarkedSo) {
  TextScore score{.tokens = 1234567, .bytes = 4000000, .nats = 3e6, .seconds = 600, .all_tokens = 2000000};
  EXPECT_EQ(shown_score(score, {.context = 2048}),
            "incomplete: interrupted after 1,234,567 of 2,000,000 tokens\n"
            "bits per byte 1.0820   perplexity 11.36 per token, 2.4300 nats per token\n"
            "1,234,567 tokens of 4,000,000 bytes (3.24 bytes a token) in 600.0 s (2,057 tokens/s), windows of 2,048 "
            "tokens\n");
  EXPECT_FALSE(*score_json(score, {.context = 2048}).find("complete")->as_bool());
  score.all_tokens = score.tokens;
  EXPECT_EQ(shown_score(score, {.context = 2048}).find("bits per byte 1.0820"), 0u);
  EXPECT_TRUE(*score_json(score, {.context = 2048}).find("complete")->as_bool());
}

TEST_F(PerplexityCommand, AnInterruptBeforeAnythingWasScoredSaysSo) {
  catch_interrupts();
  std::raise(SIGINT);
  ASSERT_TRUE(interrupted());
  const Ran ran = run({model_, file_});
  await_interrupt();  // the flag is as new
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_TRUE(ran.out.empty()) << ran.out;
  EXPECT_NE(ran.error.find("interrupted before anything was scored"), std::string::npos) << ran.error;
}

}  // namespace
}  // namespace cachalot::perplexity_command_test
