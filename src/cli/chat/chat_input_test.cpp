// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_input.h"

#include <gtest/gtest.h>

#include <vector>

namespace cachalot::chat_input_test {
namespace {

using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<std::string>& lines) {
  ChatInput input;
  Texts texts;
  for (const std::string& line : lines) {
    if (auto text = input.push(line)) texts.push_back(*text);
  }
  if (auto text = input.finish()) texts.push_back("unfinished: " + *text);
  return texts;
}

TEST(ChatInput, ALineIsAText) {
  EXPECT_EQ(texts_of({"Hello.", "", " /x"}), (Texts{"Hello.", "", " /x"}));
  EXPECT_EQ(texts_of({}), Texts{});
}

TEST(ChatInput, ABackslashAtTheEndGoesOnInTheNextLine) {
  EXPECT_EQ(texts_of({"a\\", "b\\", "c", "d"}), (Texts{"a\nb\nc", "d"}));
  EXPECT_EQ(texts_of({"a\\b", "\\", ""}), (Texts{"a\\b", "\n"}));
  EXPECT_EQ(texts_of({"a\\"}), Texts{"unfinished: a\n"});
}

TEST(ChatInput, ABlockHoldsAnything) {
  EXPECT_EQ(texts_of({"\"\"\"", "a\\", "", "/reset", "\"\"\"", "z"}), (Texts{"a\\\n\n/reset", "z"}));
  EXPECT_EQ(texts_of({"\"\"\"a", "b\"\"\""}), Texts{"a\nb"});
  EXPECT_EQ(texts_of({"\"\"\"a\"\"\""}), Texts{"a"});
  EXPECT_EQ(texts_of({"\"\"\"", "\"\"\""}), Texts{""});
  EXPECT_EQ(texts_of({"\"\"\"a", "b"}), Texts{"unfinished: a\nb\n"});
}

TEST(ChatInput, CarriageReturnsBelongToTheEndsOfLines) {
  EXPECT_EQ(texts_of({"Hello.\r", "\r", "a\rb\r\r"}), (Texts{"Hello.", "", "a\rb\r"}));
  EXPECT_EQ(texts_of({"a\\\r", "b\r"}), Texts{"a\nb"});
  EXPECT_EQ(texts_of({"\"\"\"\r", "x\r", "y\r", "\"\"\"\r", "z"}), (Texts{"x\ny", "z"}));
  EXPECT_EQ(texts_of({"\"\"\"a\"\"\"\r"}), Texts{"a"});
}

TEST(ChatInput, LinesPastedAsOneAreOneText) {
  EXPECT_EQ(texts_of({"/reset\n\nb\\\nc", "d"}), (Texts{"/reset\n\nb\\\nc", "d"}));
  EXPECT_EQ(texts_of({"\"\"\"\na\nb\n\"\"\"", "c"}), (Texts{"a\nb", "c"}));
  EXPECT_EQ(texts_of({"\"\"\"", "a\nb", "c\n\"\"\""}), Texts{"a\nb\nc"});
  EXPECT_EQ(texts_of({"a\nb\\", "c"}), Texts{"a\nb\nc"});
}

TEST(ChatInput, AnOpenBlockIsKnown) {
  ChatInput input;
  EXPECT_FALSE(input.in_block());
  EXPECT_FALSE(input.push("a\\"));
  EXPECT_FALSE(input.in_block());
  EXPECT_EQ(input.push("b"), "a\nb");
  EXPECT_FALSE(input.push("\"\"\"a"));
  EXPECT_TRUE(input.in_block());
}

TEST(ChatInput, AFenceInsideALineIsText) { EXPECT_EQ(texts_of({"a \"\"\""}), Texts{"a \"\"\""}); }

TEST(ChatInput, WhatWasBegunCanBeDropped) {
  ChatInput input;
  EXPECT_FALSE(input.pending());
  EXPECT_FALSE(input.push("\"\"\"a"));
  EXPECT_TRUE(input.pending());
  input.clear();
  EXPECT_FALSE(input.pending());
  EXPECT_EQ(input.push("b"), "b");
}

}  // namespace
}  // namespace cachalot::chat_input_test
