// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/expected.h"
#include "base/utf8.h"

namespace cachalot::shown_text_test {
namespace {

using namespace std::string_view_literals;

// "head", `middle` times a byte, "tail".
std::string around(std::size_t middle, char byte) {
  std::string text = "head";
  text.append(middle, byte);
  return text.append("tail");
}

TEST(ShownText, WhatATerminalWouldActUponIsMadeVisible) {
  EXPECT_EQ(visible_text("a\tb\n"), "a\tb\n");
  EXPECT_EQ(visible_text("\x1b[2J\r\a\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(visible_text("\0"sv), "\\x00");
  EXPECT_EQ(visible_text("\u0080\u009b\u009f\u00a0"), "\\u0080\\u009b\\u009f\u00a0");
  EXPECT_EQ(visible_text("\u202a\u202e\u2066\u2069\U000e0041"), "\\u202a\\u202e\\u2066\\u2069\\U000e0041");
  EXPECT_EQ(visible_text("鯨 🐋"), "鯨 🐋");
  EXPECT_EQ(visible_text("می\u200cخواهم 👩\u200d🚀\u200e"), "می\u200cخواهم 👩\u200d🚀\u200e") << "writing needs these";
}

TEST(ShownText, BytesThatAreNoUtf8AreToldOneByOne) {
  EXPECT_EQ(visible_text("a\x9b[31m"sv), "a\\x9b[31m") << "which 8-bit terminals take for ESC [";
  EXPECT_EQ(visible_text("\xff\xe9\xaf"), "\\xff\\xe9\\xaf");
  EXPECT_EQ(visible_line("\xf0\x9f\x98x"), "\\xf0\\x9f\\x98x");
}

TEST(ShownText, ALineHasNothingButWhatIsSeen) {
  EXPECT_EQ(visible_line("a\nb\tc"), "a\\x0ab\\x09c");
  for (const char32_t code : {0xad, 0x61c, 0x180e, 0x200b, 0x200d, 0x200f, 0x2028, 0x2029, 0x2060, 0x2065, 0xfeff,
                              0xfff9, 0xfffb, 0xe0000, 0xe007f}) {
    std::string text;
    append_utf8(text, code);
    EXPECT_EQ(visible_line(text)[0], '\\') << static_cast<std::uint32_t>(code);
  }
  EXPECT_EQ(visible_line("größe 鯨 ()[]{}\\"), "größe 鯨 ()[]{}\\");
}

TEST(ShownText, EveryControlCharacterIsVisibleInBoth) {
  for (char32_t code = 0; code < 0x3000; ++code) {
    const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
    if (!control) continue;
    std::string text;
    append_utf8(text, code);
    for (const std::string& shown : {visible_text(text), visible_line(text)}) {
      EXPECT_EQ(shown[0], '\\') << static_cast<std::uint32_t>(code);
      EXPECT_EQ(visible_line(shown), shown) << "made visible once more";
    }
  }
}

TEST(ShownText, AStreamIsTheSameHoweverItIsCut) {
  const std::string text = "a\u009b鯨🐋\x1b[0m\xff\xe9\xaf";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    VisibleStream stream;
    std::string out = stream.push(text.substr(0, cut));
    out += stream.push(text.substr(cut));
    out += stream.finish();
    EXPECT_EQ(out, visible_text(text)) << cut;
    EXPECT_EQ(stream.finish(), "");
  }
  VisibleStream whole;
  EXPECT_EQ(whole.push("🐋a"), "🐋a") << "nothing waits that need not";
}

TEST(ShownText, AQuotedTextLosesItsMiddleAndTellsHowMuch) {
  EXPECT_EQ(shown_text(std::string(300, 'a')), std::string(300, 'a'));
  const std::string cut = shown_text(around(5000000, 'a'));
  EXPECT_LT(cut.size(), 320u);
  EXPECT_TRUE(cut.starts_with("heada") && cut.ends_with("atail")) << cut;
  EXPECT_NE(cut.find(" [… 4999748 bytes more …] "), std::string::npos) << cut;
  for (std::size_t extra = 0; extra < 4; ++extra) {  // no character is cut in two
    std::string whales(extra, 'x');
    for (int i = 0; i < 1000; ++i) whales += "🐋";
    EXPECT_EQ(shown_text(whales).find('\\'), std::string::npos);
  }
  EXPECT_LT(shown_text(std::string(5000000, '\x1b')).size(), 1100u) << "an escape is longer than its byte";
  EXPECT_LT(shown_text(std::string(5000000, '\x80')).size(), 1100u);
}

TEST(ShownText, AListNamesTheFirstAndCountsTheRest) {
  EXPECT_EQ(shown_list(std::vector<std::string>{}), "");
  EXPECT_EQ(shown_list(std::vector<std::string>{"a", "b\x1b"}), "a, b\\x1b");
  EXPECT_EQ(shown_list(std::array{1, 2, 3}, 2), "1, 2 and 1 more");
  EXPECT_EQ(shown_list(std::array{1, 2, 3}, 3), "1, 2, 3");
  const std::vector<std::string> many(1000, std::string(100000, 'n'));
  EXPECT_LT(shown_list(many).size(), 1500u);
  EXPECT_TRUE(shown_list(many).ends_with(" and 992 more"));
}

TEST(ShownText, AnErrorShowsEachTextItIsGivenAndAMessageAsItIs) {
  const std::string foreign = "x\x1b]0;owned\a\n";
  const std::string_view view = foreign;
  EXPECT_EQ(fail(Errc::io, "{}: {:?}, {} of {}", foreign, view, 3, "ours").value().message,
            "x\\x1b]0;owned\\x07\\x0a: \"x\\x1b]0;owned\\x07\\x0a\", 3 of ours");
  const Error inner{Errc::io, std::string(900, 'i')};
  EXPECT_EQ(fail(inner.code, "outer: {}", inner.message).value().message, "outer: " + inner.message);
  EXPECT_LT(fail(Errc::io, "{}{}", std::string(5000000, 'a'), inner.message).value().message.size(), 1300u);
}

TEST(ShownText, AMessageThatWasMadeOtherwiseIsALineOfBoundedLengthStill) {
  std::string text = "a\x1b\n";
  text.append(5000000, 'b');
  const Error error{Errc::io, text};
  EXPECT_LE(error.message.size(), 2100u);
  EXPECT_TRUE(error.message.starts_with("a\\x1b\\x0ab"));
}

}  // namespace
}  // namespace cachalot::shown_text_test
