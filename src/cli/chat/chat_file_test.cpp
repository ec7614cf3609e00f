// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/test_checkpoint.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot::chat_file_test {
namespace {

std::vector<Json> messages_of(std::string_view list) {
  const Json json = *parse_json(list, "test", chat_json_rules);
  return {json.items().begin(), json.items().end()};
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(ChatFile, PipesAndDevicesAreNoConversationsAndNotWaitedFor) {
  const TestFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(load_chat(pipe).error().message, pipe + " is a pipe, expected a regular file");
  EXPECT_EQ(load_json_list(pipe).error().message, pipe + " is a pipe, and nobody writes to it");
  EXPECT_EQ(load_chat("/dev/zero").error().message, "/dev/zero is a device, expected a regular file");
  EXPECT_EQ(load_json_list("/dev/zero").error().message, "/dev/zero is a device, expected a regular file or a pipe");
}

TEST(ChatFile, WhatIsSavedIsLoaded) {
  const TestFolder folder;
  const auto messages = messages_of(
      R"([{"role": "system", "content": "鯨 \u001b \"q\"", "tools": [{"function": {"name": "f", "x": 1.0}}]},
          {"role": "assistant", "content": "", "reasoning_content": "r", "wo_eos": true}])");
  for (const ChatOptions& o :
       {ChatOptions{}, ChatOptions{.mode = ChatMode::chat, .effort = 1, .drop_thinking = false}}) {
    ASSERT_TRUE(save_chat(folder.path() / "c.json", messages, o));
    const auto back = load_chat(folder.path() / "c.json");
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back->messages, messages);
    EXPECT_EQ(back->options.mode, o.mode);
    EXPECT_EQ(back->options.effort, o.effort);
    EXPECT_EQ(back->options.drop_thinking, o.drop_thinking);
  }
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(ChatFile, AFileThatCannotBeReplacedStaysAsItWas) {
  const TestFolder folder;
  const auto file = folder.write("sub", "old");
  EXPECT_EQ(save_chat(folder.path() / "absent" / "c.json", {}, {}).error().code, Errc::io);
  EXPECT_EQ(save_chat(folder.path(), {}, {}).error().code, Errc::io);
  EXPECT_EQ(save_chat(file / "c.json", {}, {}).error().code, Errc::io);
  EXPECT_EQ(text_of(file), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(ChatFile, LinksAreFollowedModesKeptAndWhatIsNoPlainFileStays) {
  namespace fs = std::filesystem;
  const TestFolder folder;
  const auto file = folder.write("kept", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file, folder.path() / "link");
  ASSERT_TRUE(save_chat(folder.path() / "link", {}, {}));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
  EXPECT_TRUE(load_chat(file).has_value());
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  ASSERT_TRUE(save_chat(folder.path() / "new", {}, {}));
  EXPECT_EQ(fs::status(folder.path() / "new").permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  EXPECT_EQ(save_chat(pipe, {}, {}).error().code, Errc::io);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(save_chat("/dev/null", {}, {}).error().code, Errc::io);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(ChatFile, DamageIsOneErrorThatNamesTheFile) {
  const TestFolder folder;
  const std::string good = R"({"format": "cachalot-chat", "version": 1, "options": {"mode": "chat"}, "messages": []})";
  ASSERT_TRUE(load_chat(folder.write("good", good)).has_value());
  const auto replaced = [&](std::string_view what, std::string_view by) {
    std::string text = good;
    return text.replace(text.find(what), what.size(), by);
  };
  std::vector<std::string> bad = {"", "[]", "{}", "null", "\xff", "{\"format\": \"cachalot-chat\"}"};
  for (std::size_t cut = 1; cut < good.size(); ++cut) bad.push_back(good.substr(0, cut));
  bad.push_back(replaced("cachalot-chat", "other"));
  for (const char* v : {"2", "1.0", "\"1\"", "null"}) bad.push_back(replaced("1", v));
  for (const char* o : {"[]", "null", "{}", R"({"mode": "loud"})", R"({"mode": "chat", "reasoning_effort": 0})",
                        R"({"mode": "chat", "drop_thinking": 3})"})
    bad.push_back(replaced(R"({"mode": "chat"})", o));
  bad.push_back(replaced("\"messages\": []", "\"messages\": {}"));
  bad.push_back(replaced("\"messages\": []", fmt::format("\"messages\": {:[<2000}", "")));
  for (const std::string& text : bad) {
    const auto file = folder.write("bad.json", text);
    const auto loaded = load_chat(file);
    ASSERT_FALSE(loaded.has_value()) << text;
    EXPECT_NE(loaded.error().message.find("bad.json"), std::string::npos) << loaded.error().message;
  }
  EXPECT_EQ(load_chat(folder.path() / "absent").error().code, Errc::missing);
  EXPECT_EQ(load_chat(folder.path()).error().code, Errc::io);
}

TEST(ChatFile, AnOptionThatIsNotKnownIsRefusedByName) {
  const TestFolder folder;
  const auto loaded = load_chat(folder.write(
      "new.json",
      R"({"format": "cachalot-chat", "version": 1, "options": {"mode": "chat", "temprature": 0}, "messages": []})"));
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Errc::format);
  EXPECT_NE(loaded.error().message.find("\"temprature\" is not known"), std::string::npos) << loaded.error().message;
}

TEST(ChatFile, AListIsAListAndNothingElse) {
  const TestFolder folder;
  EXPECT_EQ(load_json_list(folder.write("l", "[1]"))->items().size(), 1u);
  EXPECT_EQ(load_json_list(folder.write("o", "{}")).error().code, Errc::format);
  EXPECT_EQ(load_json_list(folder.path() / "absent").error().code, Errc::missing);
}

}  // namespace
}  // namespace cachalot::chat_file_test
