// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_view.h"

#include <gtest/gtest.h>

namespace cachalot::chat_view_test {
namespace {

struct Screen {
  std::string out, notes;
  ChatView view;
  explicit Screen(const ChatStyle& style)
      : view(
            style, [this](std::string_view t) { out += t; }, [this](std::string_view t) { notes += t; }) {}
};

constexpr ChatStyle colored{.terminal = true, .color = true};
constexpr ChatStyle no_color{.terminal = true};
constexpr ChatStyle piped{.show_thinking = false};

std::string shown(const ChatStyle& style) {
  Screen s(style);
  s.view.reasoning("So");
  s.view.reasoning(" then.");
  s.view.content("Aye");
  s.view.content(".");
  s.view.call({.name = "f", .arguments = R"({"x": 1})"});
  s.view.end_answer();
  return s.out;
}

TEST(ChatView, ReasoningIsDimOrMarkedOrLeftOut) {
  EXPECT_EQ(shown(colored),
            "\x1b[2mSo\x1b[0m\x1b[2m then.\x1b[0m\x1b[2m\n\x1b[0m"
            "Aye.\nf(x=1)\n");
  EXPECT_EQ(shown(no_color), "<think>\nSo then.\n</think>\nAye.\nf(x=1)\n");
  EXPECT_EQ(shown(piped), "Aye.\nf(x=1)\n");
}

TEST(ChatView, EveryAnswerEndsItsLineAndHasAtLeastOne) {
  Screen s(piped);
  s.view.end_answer();
  s.view.reasoning("unseen");
  s.view.end_answer();
  s.view.content("a\n");
  s.view.end_answer();
  s.view.content("b");
  s.view.end_answer();
  EXPECT_EQ(s.out, "\n\na\nb\n");
  Screen cut(no_color);
  cut.view.reasoning("So");
  cut.view.end_answer();
  EXPECT_EQ(cut.out, "<think>\nSo\n</think>\n");
}

TEST(ChatView, WhatATerminalWouldActUponIsMadeVisible) {
  for (const ChatStyle& style : {colored, no_color}) {
    Screen s(style);
    s.view.content("\x1b]0;title\a");
    s.view.call({.name = "f\x1b", .arguments = R"({"\u001b": "\u001b\u009b"})"});
    s.view.say("\x1b");
    s.view.note("\x1b");
    EXPECT_EQ((s.out + s.notes).find_first_of("\x1b\a"), std::string::npos) << s.out;
    EXPECT_EQ(s.out.find("\u009b"), std::string::npos);
  }
  Screen pipe(piped);  // a file gets what the model wrote
  pipe.view.content("\x1b");
  EXPECT_EQ(pipe.out, "\x1b");
}

TEST(ChatView, CallsLookLikeCalls) {
  EXPECT_EQ(call_text({.name = "get_weather", .arguments = R"({"city": "Paris", "days": 3, "x": [1, {"y": null}]})"}),
            R"(get_weather(city="Paris", days=3, x=[1, {"y": null}]))");
  EXPECT_EQ(call_text({.space = "n", .name = "f", .arguments = "{}"}), "n::f()");
  EXPECT_EQ(call_text({.name = "f", .arguments = "[1"}), "f([1)");
}

}  // namespace
}  // namespace cachalot::chat_view_test
