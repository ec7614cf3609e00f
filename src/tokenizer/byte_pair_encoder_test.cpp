// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_pair_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace cachalot::byte_pair_encoder_test {
namespace {

// Tokens 0..255 are the bytes; merge number i makes token 256 + i.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<Merge> merges;

  Vocabulary() {
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  }
  TokenId id(std::string_view token) const {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == token) return TokenId{static_cast<std::int32_t>(i)};
    }
    ADD_FAILURE() << token;
    return {};
  }
  Vocabulary& merge(std::string_view left, std::string_view right) {
    const TokenId l = id(left), r = id(right);
    tokens.push_back(std::string(left) + std::string(right));
    merges.push_back({l, r, TokenId{static_cast<std::int32_t>(tokens.size() - 1)}});
    return *this;
  }
  Expected<BytePairEncoder> encoder() const {
    std::array<TokenId, 256> bytes{};
    for (int byte = 0; byte < 256; ++byte) bytes[static_cast<std::size_t>(byte)] = TokenId{byte};
    return BytePairEncoder::make(bytes, merges, "test");
  }
  std::string encode(const BytePairEncoder& encoder, std::string_view text) const {
    BytePairEncoder::Scratch scratch;
    std::vector<TokenId> ids;
    encoder.encode(text, scratch, ids);
    std::string out;
    for (const TokenId id : ids) out += (out.empty() ? "" : " ") + tokens[static_cast<std::size_t>(raw(id))];
    return out;
  }
  std::string encode(std::string_view text) const { return encode(encoder().value(), text); }

  // The rule word for word: the listed pair of lowest rank, leftmost first, again and again.
  std::string encode_slowly(std::string_view text) const {
    std::vector<TokenId> ids;
    for (const char c : text) ids.push_back(TokenId{static_cast<unsigned char>(c)});
    for (bool merged = true; merged;) {
      merged = false;
      for (std::size_t m = 0; m < merges.size() && !merged; ++m) {
        for (std::size_t i = 0; i + 1 < ids.size() && !merged; ++i) {
          if (ids[i] != merges[m].left || ids[i + 1] != merges[m].right) continue;
          ids[i] = merges[m].merged;
          ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
      }
    }
    std::string out;
    for (const TokenId id : ids) out += (out.empty() ? "" : " ") + tokens[static_cast<std::size_t>(raw(id))];
    return out;
  }
};

TEST(BytePairEncoder, NothingGivesNothing) { EXPECT_EQ(Vocabulary().merge("a", "b").encode(""), ""); }

TEST(BytePairEncoder, WithoutMergesBytesStay) { EXPECT_EQ(Vocabulary().encode("abc"), "a b c"); }

TEST(BytePairEncoder, TheLowestRankGoesFirst) {
  EXPECT_EQ(Vocabulary().merge("b", "c").merge("a", "b").encode("abc"), "a bc");
  EXPECT_EQ(Vocabulary().merge("a", "b").merge("b", "c").encode("abc"), "ab c");
}

TEST(BytePairEncoder, TheLeftmostGoesFirstOnTies) {
  EXPECT_EQ(Vocabulary().merge("a", "a").encode("aaa"), "aa a");
  EXPECT_EQ(Vocabulary().merge("a", "a").merge("aa", "aa").encode("aaaaaaa"), "aaaa aa a");
}

TEST(BytePairEncoder, AMergeMayComeBeforeTheOneThatMakesItsPart) {
  EXPECT_EQ(Vocabulary().merge("x", "y").merge("a", "b").merge("ab", "c").encode("abc"), "abc");
}

TEST(BytePairEncoder, AWholeTokenThatMergingDoesNotGiveIsNotTaken) {
  Vocabulary v;
  v.merge("b", "c").merge("a", "b").merge("ab", "c");  // bc comes first, so "abc" is never made
  auto encoder = v.encoder();
  const std::vector<std::string_view> all(v.tokens.begin(), v.tokens.end());
  encoder->learn_whole_tokens(all);
  EXPECT_EQ(v.encode(*encoder, "abc"), "a bc");
  EXPECT_EQ(v.encode(*encoder, "ab"), "ab");
}

TEST(BytePairEncoder, AgreesWithTheRuleTakenLiterallyOnRandomVocabularies) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Vocabulary v;
    std::vector<std::string> parts = {"a", "b", "c"};
    std::map<std::string, bool> known;
    for (int m = 0; m < 30; ++m) {
      const std::string left = parts[random() % parts.size()], right = parts[random() % parts.size()];
      if (left.size() + right.size() > 8 || !known.try_emplace(left + right, true).second) continue;
      v.merge(left, right);
      parts.push_back(left + right);
    }
    std::ranges::shuffle(v.merges, random);  // rank need not follow length
    auto encoder = v.encoder();
    for (int t = 0; t < 20; ++t) {
      std::string text;
      for (std::size_t n = random() % 40; n > 0; --n) text += static_cast<char>('a' + random() % 3);
      ASSERT_EQ(v.encode(*encoder, text), v.encode_slowly(text)) << text << " in round " << round;
    }
  }
}

TEST(BytePairEncoder, APairListedTwiceIsRefused) {
  Vocabulary v;
  v.merge("a", "b").merge("a", "b");
  const auto encoder = v.encoder();
  ASSERT_FALSE(encoder.has_value());
  EXPECT_EQ(encoder.error().message, "test: merge 1 repeats merge 0");
}

}  // namespace
}  // namespace cachalot::byte_pair_encoder_test
