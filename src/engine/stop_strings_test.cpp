// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_strings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"

namespace cachalot::stop_strings_test {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string text;
  std::optional<std::size_t> found;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Strings& stops, const Strings& pieces) {
  StopStrings matcher(stops);
  Outcome o;
  for (const std::string& piece : pieces) o.text += matcher.push(piece);
  o.text += matcher.finish();
  o.found = matcher.found();
  return o;
}

// The documented rule, looked for in the whole text.
Outcome brute_force(const Strings& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> found;
    for (std::size_t k = 0; k < stops.size(); ++k) {
      const bool complete = std::string_view(text).substr(0, end).ends_with(stops[k]);
      if (complete && (!found || stops[k].size() > stops[*found].size())) found = k;
    }
    if (found) return {text.substr(0, end - stops[*found].size()), found};
  }
  return {text, std::nullopt};
}

TEST(StopStrings, WithoutAnyTextPassesUnchanged) {
  EXPECT_EQ(run({}, {"ab", "", "c"}), (Outcome{"abc", std::nullopt}));
}

TEST(StopStrings, TextEndsBeforeTheStringWhereverThePiecesAreCut) {
  const std::string text = "one two END three";
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      EXPECT_EQ(run({"END"}, {text.substr(0, a), text.substr(a, b - a), text.substr(b)}), (Outcome{"one two ", 0}));
    }
  }
  EXPECT_EQ(run({"END"}, {"END"}), (Outcome{"", 0}));
  EXPECT_EQ(run({"END"}, {"EN"}), (Outcome{"EN", std::nullopt})) << "what was held back comes in the end";
}

TEST(StopStrings, HoldsBackOnlyWhatMayStillBecomeOne) {
  StopStrings matcher(Strings{"abac", "xy"});
  EXPECT_EQ(matcher.push("zzab"), "zz");
  EXPECT_EQ(matcher.push("a"), "");
  EXPECT_EQ(matcher.push("b"), "ab") << "aba|b: the last ab may go on";
  EXPECT_EQ(matcher.push(""), "");
  EXPECT_EQ(matcher.push("x"), "ab");
  EXPECT_EQ(matcher.push("x"), "x");
  EXPECT_EQ(matcher.push("y and more"), "");
  EXPECT_EQ(matcher.found(), 1u);
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopStrings, TheOneCompleteFirstCountsThenTheOneThatBeginsFirst) {
  EXPECT_EQ(run({"abcd", "bc"}, {"xabcd"}), (Outcome{"xa", 1}));    // complete first
  EXPECT_EQ(run({"c", "bc", "abc"}, {"xabc"}), (Outcome{"x", 2}));  // begins first
  EXPECT_EQ(run({"abc", "c", "bc"}, {"xa", "bc"}), (Outcome{"x", 0}));
  EXPECT_EQ(run({"b", "b"}, {"ab"}), (Outcome{"a", 0}));
}

TEST(StopStrings, OfSeveralBytesPerCharacterNeverLetHalfACharacterOut) {
  // é and è share their first byte, the emoji share three.
  StopStrings matcher(Strings{"é!", "😀?"});
  EXPECT_EQ(matcher.push("è"), "è");
  EXPECT_EQ(matcher.push("é"), "");
  EXPECT_EQ(matcher.push("😁"), "é😁");
  EXPECT_EQ(matcher.push("a😀"), "a");
  EXPECT_EQ(matcher.push("?"), "");
  EXPECT_EQ(matcher.found(), 1u);
}

TEST(StopStrings, AStringThatDoesNotCountYetIsTextAndALaterOneCounts) {
  StopStrings matcher(Strings{"aa", "bab"});
  EXPECT_EQ(matcher.push("xaa", false), "xa");
  EXPECT_FALSE(matcher.found());
  EXPECT_EQ(matcher.push("b", true), "a");
  EXPECT_EQ(matcher.push("ab", true), "");
  EXPECT_EQ(matcher.found(), 1u);

  StopStrings over(Strings{"aa"});
  EXPECT_EQ(over.push("aa", false), "a");
  EXPECT_EQ(over.push("a", true), "") << "it ends where it may, though it began before";
  EXPECT_EQ(over.found(), 0u);
}

TEST(StopStrings, FollowTheRuleForEveryCutOfEveryShortText) {
  std::mt19937 random(17);
  const auto word = [&](std::uint32_t letters, std::size_t most) {
    static const Strings alphabet = {"a", "b", "é", "è"};
    std::string text;
    for (auto n = 1 + random() % most; n > 0; --n) text += alphabet[random() % letters];
    return text;
  };
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t letters = random() % 2 == 0 ? 2 : 4;
    Strings stops;
    for (auto n = random() % 4; n > 0; --n) stops.push_back(word(letters, 8));
    const std::string text = word(letters, 60);
    StopStrings matcher(stops);
    Outcome got;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t n = 1 + random() % 4;
      while (at + n < text.size() && (static_cast<unsigned char>(text[at + n]) & 0xC0) == 0x80)
        ++n;  // whole characters
      const std::string piece = matcher.push(text.substr(at, n));
      ASSERT_TRUE(expect_utf8(piece, "").has_value());
      got.text += piece;
      at += n;
    }
    got.text += matcher.finish();
    got.found = matcher.found();
    ASSERT_EQ(got, brute_force(stops, text)) << text << " stops " << fmt::format("{}", fmt::join(stops, " "));
  }
}

TEST(StopStrings, AreFoundBehindEveryBeginningOfThemselves) {
  // A search that stumbles over the beginning must know how much of it begins the string anew.
  for (std::size_t size = 1; size <= 8; ++size) {
    for (unsigned bits = 0; bits < 1u << size; ++bits) {
      std::string stop;
      for (std::size_t i = 0; i < size; ++i) stop += (bits >> i & 1) != 0 ? 'a' : 'b';
      for (std::size_t n = 0; n <= size; ++n) {
        const std::string text = stop.substr(0, n) + stop;
        ASSERT_EQ(run({stop}, {text}), brute_force({stop}, text)) << stop << " in " << text;
      }
    }
  }
}

TEST(StopStrings, ALongTextCostsNoMoreAByteThanAShortOne) {
  // Half a million bytes that always nearly match: looking again at what was seen would take hours.
  const std::string nearly(4096, 'a');
  StopStrings matcher(Strings{nearly + "b", nearly.substr(1) + "c"});
  std::size_t given = 0;
  for (int i = 0; i < 500000; ++i) given += matcher.push("a").size();
  EXPECT_EQ(given, 500000u - 4096u);
  EXPECT_EQ(matcher.push("c").size(), 1u);
  EXPECT_EQ(matcher.found(), 1u);
}

TEST(CheckStopStrings, RefuseAnEmptyOneAndOneThatNoTextCanHold) {
  EXPECT_TRUE(check_stop_strings({}).has_value());
  EXPECT_TRUE(check_stop_strings(Strings{" ", "\n\n", "é"}).has_value());
  const Status empty = check_stop_strings(Strings{"a", ""});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().code, Errc::usage);
  EXPECT_NE(empty.error().message.find("is empty"), std::string::npos);
  const Status broken = check_stop_strings(Strings{"a", "b\xC3"});
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().code, Errc::usage);
  EXPECT_NE(broken.error().message.find("stop string 2"), std::string::npos) << broken.error().message;
}

}  // namespace
}  // namespace cachalot::stop_strings_test
