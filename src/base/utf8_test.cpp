// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <vector>

namespace cachalot::utf8_test {
namespace {

using namespace std::string_view_literals;

std::string text_of(std::initializer_list<std::string_view> parts) {
  Utf8Stream stream;
  std::string out;
  for (const std::string_view part : parts) stream.push(part, out);
  stream.finish(out);
  return out;
}

bool is_scalar(char32_t code) { return code < 0xD800 || (code > 0xDFFF && code < 0x110000); }

TEST(Utf8, EveryScalarValueIsWrittenAndReadBack) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (!is_scalar(code)) continue;
    std::string text;
    append_utf8(text, code);
    const Utf8Char c = read_utf8(text + "a");
    ASSERT_TRUE(c.kind == Utf8Kind::good && c.bytes == text.size() && c.code == code) << std::uint32_t{code};
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Char part = read_utf8(std::string_view(text).substr(0, cut));
      ASSERT_TRUE(part.kind == Utf8Kind::cut && part.bytes == cut) << std::uint32_t{code};
    }
  }
}

TEST(Utf8, SurrogatesOverlongFormsAndCodesTooLargeAreBadAtTheirSecondByte) {
  for (const auto text : {"\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xE0\x9F\xBF"sv, "\xF0\x8F\xBF\xBF"sv,
                          "\xF4\x90\x80\x80"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\x80"sv}) {
    const Utf8Char c = read_utf8(text);
    EXPECT_TRUE(c.kind == Utf8Kind::bad && c.bytes == 1);
  }
}

// By what a character is, not by tables of bytes.
bool is_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const std::size_t size = at(0) < 0x80   ? 1
                           : at(0) < 0xC0 ? 0
                           : at(0) < 0xE0 ? 2
                           : at(0) < 0xF0 ? 3
                           : at(0) < 0xF8 ? 4
                                          : 0;
  if (size != bytes.size()) return false;
  char32_t code = size == 1 ? at(0) : at(0) & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return false;
    code = code << 6 | (at(i) & 0x3F);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return is_scalar(code) && code >= least[size];
}

TEST(Utf8, EachByteOfACharacterHasItsBorders) {
  for (const auto good :
       {"\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xE1\x80\x80"sv, "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv,
        "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF1\x80\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv}) {
    for (std::size_t place = 0; place < good.size(); ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(good);
        text[place] = static_cast<char>(byte);
        const Utf8Char c = read_utf8(text);
        EXPECT_EQ(c.kind == Utf8Kind::good && c.bytes == text.size(), is_character(text))
            << place << " of " << good.size() << ": " << byte;
      }
    }
  }
}

TEST(Utf8, ABadContinuationEndsTheMaximalPart) {
  EXPECT_EQ(text_of({"\xF0\x9F\x98"
                     "a"}),
            "\uFFFDa");
  EXPECT_EQ(text_of({"\xE4\xB8\xE4\xB8\x80"}), "\uFFFD\u4E00");
  EXPECT_EQ(text_of({"\xED\xA0\x80"}), "\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8, AStreamGivesTheSameTextHoweverItsBytesAreCut) {
  const std::string bytes = "a\u00E9\u4E00\U0001F600\xF0\x9F\xE4\xB8\x80\xFF\xED\xA0\xC3";
  const std::string whole = text_of({bytes});
  EXPECT_EQ(whole, "a\u00E9\u4E00\U0001F600\uFFFD\u4E00\uFFFD\uFFFD\uFFFD\uFFFD");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(text_of({bytes.substr(0, cut), bytes.substr(cut)}), whole) << cut;
  }
}

TEST(Utf8, AStreamHoldsBackOnlyWhatMayStillBecomeACharacter) {
  Utf8Stream stream;
  std::vector<std::string> pieces;
  for (const auto part : {"\xF0"sv, "\x9F"sv, "x"sv, "\xE4\xB8"sv, "\x80"sv}) stream.push(part, pieces.emplace_back());
  stream.finish(pieces.emplace_back());
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "", "\uFFFDx", "", "\u4E00", ""}));
}

TEST(Utf8, AStreamLetsASurrogateWaitForItsThirdByte) {
  for (const auto& [third, piece] : {std::pair("\x80"sv, "\uFFFD\uFFFD\uFFFD"), {"a"sv, "\uFFFD\uFFFDa"}}) {
    Utf8Stream stream;
    std::string first, second;
    stream.push("\xED\xA0", first);
    stream.push(third, second);
    EXPECT_EQ(first, "");
    EXPECT_EQ(second, piece);
  }
  EXPECT_EQ(text_of({"\xED\xA0"}), "\uFFFD\uFFFD");
}

TEST(Utf8, AStreamIsAsNewAfterItsEnd) {
  Utf8Stream stream;
  std::string out;
  stream.push("\xE4\xB8", out);
  stream.finish(out);
  stream.push("a", out);
  stream.finish(out);
  EXPECT_EQ(out, "\uFFFDa");
}

TEST(Utf8, TheErrorNamesTheFirstBadByte) {
  EXPECT_TRUE(expect_utf8("", "it").has_value());
  EXPECT_TRUE(expect_utf8("a\u00E9\0b"sv, "it").has_value());
  EXPECT_EQ(expect_utf8("ab\xFF"
                        "c",
                        "it")
                .error()
                .message,
            "it: byte 2 (0xff) is not UTF-8");
  EXPECT_EQ(expect_utf8("ab\xE4\xB8", "it").error().message, "it: byte 2 (0xe4) is not UTF-8");
}

}  // namespace
}  // namespace cachalot::utf8_test
