// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/nearest_name.h"

#include <gtest/gtest.h>

namespace cachalot::nearest_name_test {
namespace {

const std::vector<std::string> names = {"--temperature", "--top-k", "--top-p", "--seed", "--max-tokens", "run", "chat"};

TEST(NearestName, FindsWhatFewLettersWereMeantFor) {
  EXPECT_EQ(nearest_name("--temprature", names), "--temperature");
  EXPECT_EQ(nearest_name("--seeed", names), "--seed");
  EXPECT_EQ(nearest_name("--sede", names), "--seed");
  EXPECT_EQ(nearest_name("rnu", names), "run");  // two swapped
  EXPECT_EQ(nearest_name("cht", names), "chat");
  EXPECT_EQ(nearest_name("-seed", names), "--seed");  // one dash for two
  EXPECT_EQ(nearest_name("max-tokens", names), "--max-tokens");
  EXPECT_EQ(nearest_name("--max_tokens", names), "--max-tokens");
}

TEST(NearestName, FindsWhatItIsTheBeginningOf) {
  EXPECT_EQ(nearest_name("--temp", names), "--temperature");
  EXPECT_EQ(nearest_name("--max", names), "--max-tokens");
}

TEST(NearestName, GuessesNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("--verbose", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("--", names), "");
  EXPECT_EQ(nearest_name("--xy", names), "");
  EXPECT_EQ(nearest_name("run", {}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'a'), names), "");
}

}  // namespace
}  // namespace cachalot::nearest_name_test
