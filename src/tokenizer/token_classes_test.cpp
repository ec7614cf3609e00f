// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_classes.h"

#include <algorithm>

#include "tokenizer/golden_files.h"
#include "tokenizer/sha256.h"

namespace cachalot {
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

}  // namespace
}  // namespace cachalot
