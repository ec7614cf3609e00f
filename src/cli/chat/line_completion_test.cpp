// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/line_completion.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "base/test_folder.h"

namespace cachalot::line_completion_test {
namespace {

constexpr std::array<CommandWords, 4> commands = {
    {{"help", ""}, {"load", "FILE"}, {"log", "loud|low|1..9"}, {"system", "TEXT"}}};

LineCompletion complete(std::string_view before) { return complete_command(before, commands); }
using Words = std::vector<std::string>;

TEST(LineCompletion, OfNamesTheRestThatAllHaveInCommon) {
  EXPECT_EQ(complete("/h").insert, "elp");
  EXPECT_EQ(complete("/help").insert, "");
  EXPECT_EQ(complete("/l").insert, "o");
  EXPECT_EQ(complete("/lo").choices, (Words{"load", "log"}));
  EXPECT_EQ(complete("/loa").insert, "d ");
  EXPECT_EQ(complete("/").choices, (Words{"help", "load", "log", "system"}));
  EXPECT_EQ(complete("/log lou").insert, "d");
  EXPECT_EQ(complete("/log  l").insert, "o");
}

TEST(LineCompletion, TextIsLeftAlone) {
  for (const char* text : {"", "h", " /h", "//h", "/x", "/help ", "/system H", "/nothing l", "/h\n"}) {
    EXPECT_EQ(complete(text).insert, "") << text;
    EXPECT_TRUE(complete(text).choices.empty()) << text;
  }
}

TEST(LineCompletion, FilesAreThoseOfTheFolderThatIsNamed) {
  const TestFolder home;
  const std::string folder = home.path().string();
  std::filesystem::create_directory(home.path() / "wale");
  for (const char* name : {"chat one.json", "chät.json", "chöt.json", ".hidden", "wale/blue.json"})
    home.write(name, "");
  const auto load = [&](const std::string& name) { return complete("/load " + folder + "/" + name); };
  EXPECT_EQ(load("chat").insert, " one.json");
  EXPECT_EQ(load("wa").insert, "le/");
  EXPECT_EQ(load("wale/").insert, "blue.json");
  EXPECT_EQ(load("ch").choices, (Words{"chat one.json", "chät.json", "chöt.json"})) << "no half of a character";
  EXPECT_EQ(load(".h").insert, "idden");
  EXPECT_EQ(load("").choices.size(), 4u);
  EXPECT_TRUE(complete("/load /absent/x").choices.empty());
}

}  // namespace
}  // namespace cachalot::line_completion_test
