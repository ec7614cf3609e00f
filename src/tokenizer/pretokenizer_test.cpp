// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pretokenizer.h"

#include <gtest/gtest.h>

#include "tokenizer/char_class.h"
#include "tokenizer/golden_files.h"

namespace cachalot::pretokenizer_test {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(std::string_view text) {
  const auto pieces = split_pretokens(text);
  return {pieces.begin(), pieces.end()};
}

TEST(CharClass, AgreesWithUnicode16OnEveryCodePoint) {
  const Json golden = golden_json("unicode_classes.json");
  const std::pair<const char*, CharClass> names[] = {{"L", CharClass::letter}, {"M", CharClass::mark},
                                                     {"N", CharClass::number}, {"P", CharClass::punctuation},
                                                     {"S", CharClass::symbol}, {"White_Space", CharClass::space}};
  std::vector<CharClass> expected(0x110000, CharClass::other);
  for (const auto& [name, kind] : names) {
    for (const Json& range : golden.find("classes")->find(name)->items()) {
      const std::int64_t first = int_of(range.items()[0]), last = int_of(range.items()[1]);
      for (auto code = first; code <= last; ++code) expected[static_cast<std::size_t>(code)] = kind;
    }
  }
  for (char32_t code = 0; code < 0x110000; ++code) ASSERT_EQ(char_class(code), expected[code]) << std::uint32_t{code};
  EXPECT_EQ(char_class(0x110000), CharClass::other);
  EXPECT_EQ(char_class(0xFFFFFFFF), CharClass::other);
}

TEST(Pretokenizer, SplitsLikeTheReleasedOneOnEveryGolden) {
  for (const Json& one : golden_cases("pretok.jsonl")) {
    Pieces expected;
    for (const Json& piece : one.find("pieces")->items()) expected.push_back(*piece.as_string());
    EXPECT_EQ(split(string_at(one, "text")), expected) << string_at(one, "id");
  }
}

TEST(Pretokenizer, EmptyTextHasNoPieces) { EXPECT_TRUE(split("").empty()); }

TEST(Pretokenizer, DigitsGoInThreesFromTheLeft) {
  EXPECT_EQ(split("1"), (Pieces{"1"}));
  EXPECT_EQ(split("123"), (Pieces{"123"}));
  EXPECT_EQ(split("1234567"), (Pieces{"123", "456", "7"}));
  EXPECT_EQ(split("a½Ⅷ①१x"), (Pieces{"a", "½Ⅷ①", "१", "x"}));
}

TEST(Pretokenizer, ALaterPatternSeesAPieceAndNotTheText) {
  EXPECT_EQ(split("a  b"), (Pieces{"a", " ", " b"}));
  EXPECT_EQ(split("a  1"), (Pieces{"a", "  ", "1"}));
  EXPECT_EQ(split("a  中"), (Pieces{"a", "  ", "中"}));
}

TEST(Pretokenizer, PunctuationInsideKatakanaIsCutOff) { EXPECT_EQ(split("ア・イ"), (Pieces{"ア", "・", "イ"})); }

TEST(Pretokenizer, CjkRangeEndsAtItsLastCodePoints) {
  EXPECT_EQ(split("a\u4E00b"), (Pieces{"a", "\u4E00", "b"}));
  EXPECT_EQ(split("a\u9FA5b"), (Pieces{"a", "\u9FA5", "b"}));
  EXPECT_EQ(split("a\u9FA6b"), (Pieces{"a\u9FA6b"}));
  EXPECT_EQ(split("a\u4DFFb"), (Pieces{"a", "\u4DFF", "b"}));  // a hexagram: a symbol
  EXPECT_EQ(split("a\u3400b"), (Pieces{"a\u3400b"}));
}

TEST(Pretokenizer, ASpaceGoesWithPunctuationBeforePunctuationGoesWithLetters) {
  EXPECT_EQ(split(" .com"), (Pieces{" .", "com"}));
  EXPECT_EQ(split(".com"), (Pieces{".com"}));
  EXPECT_EQ(split(".comé"), (Pieces{".com", "é"}));
}

TEST(Pretokenizer, WhiteSpaceRunsBreakAfterTheirLastNewline) {
  EXPECT_EQ(split("a \n \n  b"), (Pieces{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(split("\t\t."), (Pieces{"\t", "\t", "."}));
  EXPECT_EQ(split("  ."), (Pieces{" ", " ."}));
  EXPECT_EQ(split("a\r\nb"), (Pieces{"a", "\r\n", "b"}));
  EXPECT_EQ(split("!\n\nb"), (Pieces{"!\n\n", "b"}));
  EXPECT_EQ(split("   "), (Pieces{"   "}));
}

TEST(Pretokenizer, WhatNoPatternTakesStaysTogether) {
  EXPECT_EQ(split("\u0001\u0001"), (Pieces{"\u0001\u0001"}));
  EXPECT_EQ(split("\u0001\u0001a"), (Pieces{"\u0001", "\u0001a"}));
  EXPECT_EQ(split("\u180E\u180E "), (Pieces{"\u180E\u180E", " "}));
}

TEST(Pretokenizer, NulIsACharacterLikeOtherControls) {
  EXPECT_EQ(split(std::string_view("a\0b\0", 4)), (Pieces{"a", std::string("\0b", 2), std::string("\0", 1)}));
}

TEST(Pretokenizer, OneLongRunOfAnyKindTakesLinearTime) {
  constexpr std::size_t count = 1'000'000;
  for (const char c : {'a', ' ', '\n', '!', '\x01'}) EXPECT_EQ(split_pretokens(std::string(count, c)).size(), 1u) << c;
  EXPECT_EQ(split_pretokens(std::string(count, '1')).size(), count / 3 + 1);
}

}  // namespace
}  // namespace cachalot::pretokenizer_test
