// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace cachalot::added_tokens_test {
namespace {

// "a[b]c" means: text a, token b, text c.
std::string shown(const AddedTokens& tokens, std::string_view text) {
  std::string out;
  for (const AddedTokens::Piece& piece : tokens.split(text)) {
    EXPECT_FALSE(piece.text.empty());
    if (piece.token) {
      EXPECT_EQ(tokens.id_of(piece.text), piece.token);
      out += '[';
      out += piece.text;
      out += ']';
    } else {
      out += piece.text;
    }
  }
  return out;
}

const AddedTokens& sample() {
  static const AddedTokens tokens(
      {{"<a>", TokenId{1}}, {"<a>b", TokenId{2}}, {"<", TokenId{3}}, {"｜x", TokenId{4}}, {"xy", TokenId{5}}});
  return tokens;
}

TEST(AddedTokens, NoTokensLeaveTheTextWhole) {
  EXPECT_EQ(shown(AddedTokens(), "<a>"), "<a>");
  EXPECT_EQ(AddedTokens().id_of("<a>"), std::nullopt);
}

TEST(AddedTokens, EmptyTextHasNoPieces) { EXPECT_TRUE(sample().split("").empty()); }

TEST(AddedTokens, TheLongestAtAPlaceWins) { EXPECT_EQ(shown(sample(), "<a>bc<a><<a"), "[<a>b]c[<a>][<][<]a"); }

TEST(AddedTokens, TheLeftmostWinsOverALongerOneThatOverlaps) { EXPECT_EQ(shown(sample(), "z｜xy"), "z[｜x]y"); }

TEST(AddedTokens, TextBetweenAndAroundIsKept) { EXPECT_EQ(shown(sample(), " <a> ｜ xy "), " [<a>] ｜ [xy] "); }

TEST(AddedTokens, CaseCounts) { EXPECT_EQ(shown(sample(), "XY <A>"), "XY [<]A>"); }

TEST(AddedTokens, IdOfNeedsTheWholeContent) {
  EXPECT_EQ(sample().id_of("<a>b"), TokenId{2});
  EXPECT_EQ(sample().id_of("<a"), std::nullopt);
  EXPECT_EQ(sample().id_of("<a>bc"), std::nullopt);
  EXPECT_EQ(sample().id_of(""), std::nullopt);
}

}  // namespace
}  // namespace cachalot::added_tokens_test
