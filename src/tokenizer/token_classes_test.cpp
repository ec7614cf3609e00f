// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_classes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tokenizer/golden_files.h"
#include "tokenizer/sha256.h"

namespace cachalot::token_classes_test {
namespace {

const TokenClasses& released_classes() {
  static const TokenClasses classes = token_classes(released_tokenizer());
  return classes;
}

std::int32_t class_of(std::int64_t id) { return released_classes().class_of[static_cast<std::size_t>(id)]; }

// Of single tokens: whether two texts are the same word.
bool same_class(std::string_view a, std::string_view b) {
  const auto first = released_tokenizer().encode_plain(a).value(),
             second = released_tokenizer().encode_plain(b).value();
  EXPECT_EQ(first.size(), 1u) << a;
  EXPECT_EQ(second.size(), 1u) << b;
  return class_of(raw(first[0])) == class_of(raw(second[0]));
}

std::string little_endian(std::span<const std::int32_t> values) {
  std::string bytes;
  for (const std::int32_t value : values) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  }
  return bytes;
}

TEST(TokenClasses, OfTheReleasedVocabularyHaveTheGoldenNumberAndHash) {
  const Json golden = golden_json("engram_map.json");
  EXPECT_EQ(released_classes().classes, int_of(*golden.find("n_classes")));
  EXPECT_EQ(sha256_hex(little_endian(released_classes().class_of)), string_at(golden, "sha256_int32_le"));
  EXPECT_EQ(class_of(int_of(*golden.find("pad_token_id"))), int_of(*golden.find("pad_class")));
}

TEST(TokenClasses, OfTheReleasedVocabularyAgreeWithEverySample) {
  const Json golden = golden_json("engram_map.json");
  std::int64_t id = 0;
  for (const Json& expected : golden.find("first")->items()) {
    EXPECT_EQ(class_of(id), int_of(expected)) << id;
    ++id;
  }
  for (const Json& row : golden.find("sample")->items()) {
    EXPECT_EQ(class_of(int_of(row.items()[0])), int_of(row.items()[1])) << int_of(row.items()[0]);
  }
}

TEST(TokenClasses, OfVersionThreesIdsAloneHaveTheirGoldenHash) {
  const Json golden = golden_json("engram_map.json");
  const Json& v3 = *golden.find("v3_only_tokens");
  const auto count = static_cast<std::size_t>(int_of(*v3.find("n_tokens")));
  const auto ids = std::span(released_classes().class_of).first(count);
  EXPECT_EQ(std::ranges::max(ids) + 1, int_of(*v3.find("n_classes")));
  EXPECT_EQ(sha256_hex(little_endian(ids)), string_at(v3, "sha256_int32_le"));
}

TEST(TokenClasses, OfTheTinyCheckpointAreThoseItWasMadeWith) {
  const Json expected = json_of_text(text_of_file(mini_path + "/engram_expected.json"), "engram_expected.json");
  const TokenClasses classes = token_classes(mini_tokenizer());
  EXPECT_EQ(classes.classes, int_of(*expected.find("compressed_vocab")));
  std::vector<std::int32_t> map;
  for (const Json& value : expected.find("token_map")->items()) map.push_back(static_cast<std::int32_t>(int_of(value)));
  EXPECT_EQ(classes.class_of, map);
}

TEST(TokenClasses, CaseAccentsAndOuterSpaceDoNotCount) {
  EXPECT_TRUE(same_class("Hello", "hello"));
  EXPECT_TRUE(same_class(" hello", "hello"));
  EXPECT_TRUE(same_class("é", "e"));
  EXPECT_FALSE(same_class("hello", "world"));
}

TEST(TokenClasses, BlanksAndNewlinesAreOneWord) {
  EXPECT_TRUE(same_class(" ", "\n"));
  EXPECT_TRUE(same_class("  ", "\t"));
  EXPECT_EQ(std::ranges::count(released_classes().class_of, class_of(223)), 163);  // 223 is " "
}

// The classes of texts, as tokens added to the tiny vocabulary.
std::vector<std::int32_t> classes_of(const std::vector<std::string>& texts) {
  Json json = json_of_text(text_of_file(mini_path + "/tokenizer.json"), "tokenizer.json");
  const std::int64_t first = mini_tokenizer().vocab_size();
  std::int64_t id = first;
  for (const std::string& text : texts) {
    json.find("added_tokens")
        ->push_back(
            Json::object({{"id", id++}, {"content", "\u2060" + text}, {"normalized", false}, {"special", false}}));
  }
  const auto tokenizer = Tokenizer::parse(json.dump(), "T");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  const TokenClasses classes = token_classes(*tokenizer);
  return {classes.class_of.begin() + first, classes.class_of.end()};
}

TEST(TokenClasses, OfAnyVocabularyFollowUnicode) {
  const std::pair<const char*, const char*> same[] = {
      {"\uFF21", "a"},
      {"\u24B6", "a"},
      {"\U0001D400", "a"},  // full width, in a circle, bold
      {"\uFB06", "st"},
      {"\u1E9E", "\u00DF"},
      {"\u0130", "i"},  // ligature, capital sharp s
      {"\u3392", "mhz"},
      {"\u00BD", "1\u20442"},
      {"\u01C4", "dz"},  // several characters from one
      {"\uF900", "\u8C48"},
      {"\uFEFB", "\u0644\u0627"},
      {"\uFF9E", ""},  // compatibility forms
      {"\u0931", "\u0930"},
      {"\u03A3", "\u03C3"},
      {"\u1F82", "\u03B1"},              // marks of other scripts
      {"\uD55C", "\u1112\u1161\u11AB"},  // a syllable and its letters
      {"\U00010D50", "\U00010D70"},
      {"\U0001CCD6", "a"},
      {"\uA7DC", "\u019B"},  // of Unicode 16
      {"\uFDFA",
       "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064A\u0647 \u0648\u0633\u0644\u0645"},  // 18
  };
  for (const auto& [a, b] : same) {
    const std::vector<std::int32_t> classes = classes_of({a, b});
    EXPECT_EQ(classes[0], classes[1]) << a << " and " << b;
  }
  const std::vector<std::int32_t> others = classes_of({"a", "\u0250", "\u00E6"});  // no fold of one another
  EXPECT_EQ(std::set<std::int32_t>(others.begin(), others.end()).size(), 3u);
}

}  // namespace
}  // namespace cachalot::token_classes_test
