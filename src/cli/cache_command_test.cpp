// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_command.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/test_folder.h"
#include "cli/run_command.h"
#include "cli/test_command.h"
#include "kv/stored_snapshots.h"

namespace cachalot::cache_command_test {
namespace {

namespace fs = std::filesystem;

const std::string mini_a = CACHALOT_BUILD_DIR "/golden/mini-a";

class CacheCommand : public testing::Test {
 protected:
  static Ran line(std::vector<std::string> arguments) {
    return run_line(std::move(arguments), {add_cache_command, add_run_command});
  }
  Ran cache(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "cache");
    arguments.insert(arguments.end(), {"--cache", folder_});
    return line(std::move(arguments));
  }
  Ran run(const std::string& ids, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "--model", mini_a, "--ids", ids, "--max-tokens", "5", "--temperature", "1",
                               "--json", "--logprobs", "4", "--cache", folder_});
    return line(std::move(more));
  }
  static Json json_of(const Ran& ran) {
    EXPECT_EQ(ran.exit_code, 0) << ran.error;
    auto json = parse_json(ran.out, "out");
    EXPECT_TRUE(json.has_value()) << ran.out;
    return json ? std::move(*json) : Json();
  }

  const TestFolder home_;
  const std::string folder_ = home_.path() / "states";  // not there yet
};

std::int64_t number(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr ? -1 : value->as_int64().value_or(-1);
}

TEST_F(CacheCommand, ARunLeavesStatesThatTheNextGoesOnFromWithTheSameText) {
  const Json cold = json_of(run("3,40,77,5,6,7"));
  EXPECT_EQ(number(cold, "cached_tokens"), 0);
  const Json again = json_of(run("3,40,77,5,6,7", {"--stats"}));
  EXPECT_EQ(number(again, "cached_tokens"), 5);
  EXPECT_EQ(number(*again.find("stats"), "cached_tokens"), 5);
  for (const char* key : {"ids", "text", "logprobs"}) EXPECT_EQ(*again.find(key), *cold.find(key)) << key;
  EXPECT_EQ(number(json_of(run("3,40,77,5,6,8")), "cached_tokens"), 5);
  EXPECT_EQ(number(json_of(run("3,40,77,5,6,8", {"--numerics", "f32"})), "cached_tokens"), 0);
  EXPECT_EQ(number(json_of(run("3,40,77,5,6,8", {"--simd", "portable"})), "cached_tokens"), 0);
}

TEST_F(CacheCommand, StatsOfARunTellWhatWasCached) {
  (void)run("3,40,77,5,6,7");
  const Ran ran =
      line({"run", "--model", mini_a, "--ids", "3,40,77,5,6,7", "--max-tokens", "2", "--stats", "--cache", folder_});
  EXPECT_NE(ran.error.find("prompt  6 tokens, 5 of them cached, in "), std::string::npos) << ran.error;
}

TEST_F(CacheCommand, LsTellsEachStateAndTheirSum) {
  EXPECT_EQ(cache({"ls"}).exit_code, 1) << "there is no such folder yet";
  (void)run("3,40,77");
  (void)run("4,40,77");
  const Ran ran = cache({"ls"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(one_spaced(ran.out).find(" ago 7 end cpu "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("2 snapshots, "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("2 of them readable"), std::string::npos) << ran.out;
  const Json json = json_of(cache({"ls", "--json"}));
  EXPECT_EQ(number(json, "files"), 2);
  EXPECT_EQ(number(json, "readable"), 2);
  const Json& one = json.find("snapshots")->items()[0];
  EXPECT_EQ(number(one, "tokens"), 7);
  EXPECT_EQ(*one.find("model"), Json("mini-a"));
  EXPECT_EQ(*one.find("readable"), Json(true));
  EXPECT_NE(one.find("mode")->as_string()->find("cpu"), std::string::npos);
  EXPECT_EQ(number(json, "bytes"), number(one, "bytes") + number(json.find("snapshots")->items()[1], "bytes"));
}

TEST_F(CacheCommand, LsTellsWhatCannotBeReadAndARunGoesOnWithoutIt) {
  (void)run("3,40,77");
  const fs::path file = stored_snapshots(folder_)->at(0).path;
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('\x55');
  EXPECT_NE(cache({"ls"}).out.find("can't be read: "), std::string::npos);
  const Json json = json_of(cache({"ls", "--json"}));
  EXPECT_EQ(number(json, "readable"), 0);
  EXPECT_NE(json.find("snapshots")->items()[0].find("error"), nullptr);
  const Ran without = run("3,40,77");
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_NE(without.out.find("\"cached_tokens\":0"), std::string::npos) << without.out;
}

TEST_F(CacheCommand, ClearRemovesOurFilesAndTellsHowMany) {
  (void)run("3,40,77");
  std::ofstream(fs::path(folder_) / "notes.txt") << "mine";
  EXPECT_EQ(cache({"clear", "--older", "1"}).out, "0 snapshots removed, 0 B\n");
  const fs::path file = stored_snapshots(folder_)->at(0).path;
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(49));
  EXPECT_EQ(cache({"clear", "--older", "3"}).out, "0 snapshots removed, 0 B\n");
  EXPECT_NE(cache({"ls"}).out.find("  2 d ago  "), std::string::npos) << cache({"ls"}).out;
  EXPECT_EQ(number(json_of(cache({"clear", "--older", "2", "--json"})), "removed"), 1);
  EXPECT_TRUE(fs::exists(fs::path(folder_) / "notes.txt"));
  (void)run("3,40,77");
  EXPECT_NE(cache({"clear"}).out.find("1 snapshot removed, "), std::string::npos);
  EXPECT_EQ(cache({"ls"}).out, "0 snapshots, 0 B in all, 0 of them readable\n");
}

TEST_F(CacheCommand, WithoutAFolderTheErrorSaysHowToNameOne) {
  for (const char* what : {"ls", "clear"}) {
    const Ran ran = line({"cache", what});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.error.find("--cache DIR"), std::string::npos) << ran.error;
    EXPECT_NE(ran.error.find("CACHALOT_CACHE"), std::string::npos) << ran.error;
  }
  EXPECT_EQ(line({"cache"}).exit_code, 2);
  EXPECT_EQ(line({"cache", "ls", "--cache", ""}).exit_code, 2);
  ::setenv("CACHALOT_CACHE", folder_.c_str(), 1);
  (void)line({"run", "--model", mini_a, "--ids", "3,4", "--max-tokens", "2"});
  const Ran ran = line({"cache", "ls"});
  ::unsetenv("CACHALOT_CACHE");
  EXPECT_NE(ran.out.find("1 snapshot, "), std::string::npos) << ran.out << ran.error;
}

TEST_F(CacheCommand, TellsAndClearsFilesThatWereNotFinished) {
  (void)run("3,4");
  const auto kept = stored_snapshots(folder_);
  std::ofstream(name_while_writing(kept->at(0).path)) << "half";
  EXPECT_NE(cache({"ls"}).out.find("1 snapshot, "), std::string::npos);
  EXPECT_NE(cache({"ls"}).out.find("and 1 not finished, 4 B"), std::string::npos) << cache({"ls"}).out;
  EXPECT_EQ(number(json_of(cache({"ls", "--json"})), "unfinished_files"), 1);
  EXPECT_NE(cache({"clear"}).out.find("and 1 not finished"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CacheCommand, OffIsNoFolder) {
  const Ran ls = line({"cache", "ls", "--cache", "off"});
  EXPECT_EQ(ls.exit_code, 2);
  EXPECT_NE(ls.error.find("./off"), std::string::npos) << ls.error;
  ::setenv("CACHALOT_CACHE", folder_.c_str(), 1);
  const Json out =
      json_of(line({"run", "--model", mini_a, "--ids", "3,4", "--max-tokens", "2", "--json", "--cache", "off"}));
  ::unsetenv("CACHALOT_CACHE");
  EXPECT_EQ(out.find("cached_tokens"), nullptr);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_FALSE(fs::exists("off"));
}

TEST_F(CacheCommand, InAFolderWhereOthersMayWriteLsWarnsAndClearRefusesUnlessItIsTrusted) {
  (void)run("3,40,77");
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  const Ran seen = cache({"ls"});
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_NE(seen.out.find("1 snapshot,"), std::string::npos) << seen.out;
  const std::string told = seen.out + seen.error;  // where the log goes is the program's to say
  EXPECT_NE(told.find("everybody may write to " + folder_), std::string::npos) << told;
  EXPECT_NE(told.find("runs refuse its states without --trust-cache"), std::string::npos) << told;
  const Ran kept = cache({"clear"});
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_NE(kept.error.find("nothing is removed there, unless --trust-cache says so"), std::string::npos) << kept.error;
  const Ran trusted = cache({"ls", "--trust-cache"});
  EXPECT_EQ((trusted.out + trusted.error).find("runs refuse"), std::string::npos);
  EXPECT_NE(trusted.out.find("1 snapshot,"), std::string::npos) << "it is still there";
  ::setenv("CACHALOT_TRUST_CACHE", "1", 1);
  EXPECT_NE(cache({"clear"}).out.find("1 snapshot removed"), std::string::npos);
  ::unsetenv("CACHALOT_TRUST_CACHE");
}

TEST_F(CacheCommand, WhatCannotUseStatesRefusesAFolderAndLeavesTheUsualOneAlone) {
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--prefill", "replay"},
                                                {"--reference-op", "rope"},
                                                {"--index-keys", "published-slot"}}) {
    const Ran named = run("3,4", other);
    EXPECT_EQ(named.exit_code, 2);
    EXPECT_NE(named.error.find("does not go with " + other[0]), std::string::npos) << named.error;
    ::setenv("CACHALOT_CACHE", folder_.c_str(), 1);
    std::vector<std::string> usual = {"run", "--model", mini_a, "--ids", "3,4", "--max-tokens", "2", "--json"};
    usual.insert(usual.end(), other.begin(), other.end());
    const Ran ran = line(usual);
    ::unsetenv("CACHALOT_CACHE");
    EXPECT_EQ(ran.exit_code, 0) << ran.error;
    EXPECT_EQ(ran.out.find("cached_tokens"), std::string::npos) << ran.out;
    EXPECT_FALSE(fs::exists(folder_)) << other[0];
  }
}

TEST_F(CacheCommand, AFolderOrABudgetThatIsNoneIsRefused) {
  EXPECT_EQ(run("3,4", {"--cache-budget", "much"}).exit_code, 2);
  fs::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  const Ran file = run("3,4");
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_NE(file.error.find("it is no folder"), std::string::npos) << file.error;
}

TEST_F(CacheCommand, AFolderOfTheEnvironmentThatIsNoneIsDoneWithout) {
  fs::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  ::setenv("CACHALOT_CACHE", folder_.c_str(), 1);
  const Ran usual = line({"run", "--model", mini_a, "--ids", "3,4", "--max-tokens", "2", "--json"});
  EXPECT_EQ(usual.exit_code, 0) << usual.error;
  EXPECT_EQ(run("3,4").exit_code, 1);  // the same folder, named by hand
  ::unsetenv("CACHALOT_CACHE");
}

TEST_F(CacheCommand, ABudgetThatHoldsOneStateKeepsTheNewest) {
  (void)run("3,40,77");
  const std::int64_t one = stored_snapshots(folder_)->at(0).bytes;
  (void)run("4,40,77", {"--cache-budget", std::to_string(one + one / 2)});
  EXPECT_EQ(stored_snapshots(folder_)->size(), 1u);
  EXPECT_EQ(number(json_of(run("4,40,77")), "cached_tokens"), 2);
}

}  // namespace
}  // namespace cachalot::cache_command_test
