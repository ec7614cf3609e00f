// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "checkpoint/released_config.h"
#include "checkpoint/test_checkpoint.h"
#include "cli/run_command.h"
#include "cli/test_command.h"

namespace cachalot::plan_command_test {
namespace {

Ran run(std::vector<std::string> arguments) {
  return run_line(std::move(arguments), {add_plan_command, add_run_command});
}

std::int64_t number(const Json& json, std::string_view key) { return json.find(key)->as_int64().value(); }

Json json_of(std::vector<std::string> more) {
  more.insert(more.begin(), "plan");
  more.emplace_back("--json");
  const Ran ran = run(std::move(more));
  auto json = parse_json(ran.out, "out");
  EXPECT_TRUE(json.has_value()) << ran.out << ran.error;
  return json ? std::move(*json) : Json();
}

TEST(PlanCommand, TellsEveryPartOfACheckpoint) {
  const Ran ran = run({"plan", mini_a().string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  for (const char* part : {"dense", "routed experts", "Engram tables", "draft stages", "state, in pages", "scratch",
                           "tensor table", "this machine", "this works, and all its weights fit in memory beside it"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << " in:\n" << ran.out;
  }
}

TEST(PlanCommand, WithoutAContextItCountsWhatARunAsksFor) {
  EXPECT_EQ(number(json_of({mini_a().string(), "--chunk", "16"}), "context"), 16 + 256);
  EXPECT_EQ(number(json_of({mini_a().string()}), "context"), 512);  // all the model has: more than a run would take
}

TEST(PlanCommand, WritesTheSameAsJson) {
  const Json plan = json_of({mini_a().string(), "--context", "300", "--chunk", "64", "--threads", "3"});
  EXPECT_TRUE(*plan.find("works")->as_bool());
  EXPECT_EQ(number(plan, "context"), 300);
  std::int64_t own = 0, used = 0;
  for (const Json& part : plan.find("own")->items()) own += number(part, "bytes");
  for (const Json& group : plan.find("weights")->items()) {
    EXPECT_EQ(*group.find("place")->as_string(), "mapped");
    if (*group.find("used")->as_bool()) used += number(group, "bytes");
  }
  EXPECT_EQ(own, number(plan, "own_bytes"));
  EXPECT_EQ(used, number(plan, "used_bytes"));
  EXPECT_EQ(number(plan, "peak_bytes"), std::max(own, number(plan, "loading_bytes")));
  EXPECT_LT(number(json_of({mini_a().string(), "--draft", "off"}), "used_bytes"), used);
}

TEST(PlanCommand, CountsDraftsAsRunDoesAndTheStatesOfAPrefixCache) {
  EXPECT_TRUE(*json_of({mini_a().string()}).find("drafts")->as_bool());
  EXPECT_FALSE(*json_of({mini_a().string(), "--draft", "off"}).find("drafts")->as_bool());
  const Ran above = run({"plan", mini_a().string(), "--draft", "1000"});
  EXPECT_EQ(above.exit_code, 2);
  EXPECT_NE(above.error.find("--draft 1000: the model was trained to draft"), std::string::npos) << above.error;

  const Json none = json_of({mini_a().string()}), some = json_of({mini_a().string(), "--cache-budget", "1GiB"});
  EXPECT_EQ(number(some, "own_bytes"), number(none, "own_bytes") + (std::int64_t{1} << 30));
  const Ran ran = run({"plan", mini_a().string(), "--cache-budget", "1GiB", "--memory", "1GiB"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.error.find("kept states 1.0 GiB"), std::string::npos) << ran.error;
  EXPECT_NE(ran.error.find("fewer kept states (--cache-budget)"), std::string::npos) << ran.error;
}

TEST(PlanCommand, WhatCannotWorkIsToldWithExitCodeOne) {
  const Ran ran = run({"plan", mini_a().string(), "--memory", "1MiB"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("this can't work"), std::string::npos) << ran.out;
  EXPECT_NE(ran.error.find("--memory"), std::string::npos) << ran.error;
  EXPECT_FALSE(*json_of({mini_a().string(), "--memory", "1MiB"}).find("works")->as_bool());
}

TEST(PlanCommand, AConfigAloneIsEnough) {
  const TestFolder folder;
  const std::string config = folder.write("config.json", released_config_text()).string();
  const Ran ran = run({"plan", config, "--memory", "32GiB", "--context", "4096"});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  EXPECT_NE(ran.out.find("96085 tensors, as the config says"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("the dense weights fit in memory; what does not"), std::string::npos) << ran.out;
  EXPECT_NE(run({"plan", config, "--memory", "6GiB"}).out.find("not even the dense weights fit"), std::string::npos);
  EXPECT_NE(run({"plan", folder.path().string(), "--memory", "600GiB"}).out.find("all its weights fit"),
            std::string::npos);
}

TEST(PlanCommand, ShardsStillToComeAreSaidToBe) {
  const TestFolder folder;
  folder.write("config.json", text_of(mini_a() / "config.json"));
  folder.write("model.safetensors.index.json", text_of(mini_a() / "model.safetensors.index.json"));
  const Ran ran = run({"plan", folder.path().string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  EXPECT_NE(ran.out.find("not there yet"), std::string::npos) << ran.out;
}

TEST(PlanCommand, BadOptionsAreUsageErrors) {
  for (const char* memory : {"", "x", "-1", "5 apples"}) {
    EXPECT_EQ(run({"plan", mini_a().string(), "--memory", memory}).exit_code, 2) << memory;
  }
  EXPECT_EQ(run({"plan", mini_a().string(), "--context", "0"}).exit_code, 2);
  const Ran long_context = run({"plan", mini_a().string(), "--context", "513"});
  EXPECT_EQ(long_context.exit_code, 2);
  EXPECT_NE(long_context.error.find("512"), std::string::npos) << long_context.error;
  EXPECT_EQ(run({"plan", "/absent"}).exit_code, 1);
  EXPECT_NE(run({"plan", "--help"}).out.find("cachalot plan models/demo"), std::string::npos);
}

TEST(RunCommand, RefusesBeforeLoadingWhatMemoryCannotHold) {
  const Ran ran = run({"run", "--model", mini_a().string(), "--ids", "3", "--memory", "1K"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.error.find("not enough memory: this needs"), std::string::npos) << ran.error;
  EXPECT_EQ(ran.error.find("after loading"), std::string::npos) << ran.error;
  EXPECT_EQ(run({"run", "--model", mini_a().string(), "--ids", "3", "--max-tokens", "1", "--memory", "4GiB"}).exit_code,
            0);
}

}  // namespace
}  // namespace cachalot::plan_command_test
