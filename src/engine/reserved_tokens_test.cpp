// SPDX-License-Identifier: Apache-2.0
#include "engine/reserved_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace cachalot::reserved_tokens_test {
namespace {

// The released one takes a second to load, so one test asks all of it.
Tokenizer load(const std::string& path) {
  auto tokenizer = Tokenizer::load(path);
  check(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message.c_str());
  return std::move(*tokenizer);
}

Config config_of(std::int64_t vocab) {
  Config config;
  config.vocab_size = vocab;
  return config;
}

std::vector<std::int32_t> reserved(const Tokenizer& tokenizer, const Config& config) {
  std::vector<std::int32_t> ids;
  for (const TokenId id : reserved_tokens(tokenizer, config)) ids.push_back(raw(id));
  return ids;
}

TEST(ReservedTokens, OfTheReleasedTokenizerAreThoseThatTheSpecificationLists) {
  std::vector<std::int32_t> want;
  const auto add = [&](std::int32_t first, std::int32_t last) {
    for (std::int32_t id = first; id <= last; ++id) want.push_back(id);
  };
  add(128000, 128798);
  add(128823, 128824);
  add(128847, 129270);
  add(129279, 129279);
  const Tokenizer released = load(CACHALOT_BUILD_DIR "/golden/released_tokenizer");
  EXPECT_EQ(reserved(released, config_of(129280)), want);
  // An answer may use what the chat format and its markup are made of.
  const auto ids = reserved_tokens(released, config_of(129280));
  for (const char* content :
       {"<｜end▁of▁sentence｜>", "<think>", "</think>", "｜DSML｜", "<｜System｜>", "<｜ref｜>", "<｜/box｜>"}) {
    const auto id = released.id_of(content);
    ASSERT_TRUE(id.has_value()) << content;
    EXPECT_FALSE(std::ranges::binary_search(ids, *id)) << content;
  }
}

TEST(ReservedTokens, GoByContentSoOtherIdsAreFoundAsWell) {
  const Tokenizer prototype = load(CACHALOT_TEST_DATA "/../../models/prototype");
  EXPECT_EQ(reserved(prototype, config_of(2560)), (std::vector<std::int32_t>{2559}));  // <｜deepseek_image｜>
  const Tokenizer mini = load(CACHALOT_BUILD_DIR "/golden/mini-a");
  EXPECT_EQ(reserved(mini, config_of(497)), (std::vector<std::int32_t>{494}));

  std::ifstream file(CACHALOT_BUILD_DIR "/golden/mini-a/tokenizer.json");
  std::string json(std::istreambuf_iterator<char>(file), {});
  const std::string noise = "<｜noise｜>";
  for (std::size_t at; (at = json.find(noise)) != std::string::npos;)
    json.replace(at, noise.size(), "<|place_holder_mm_span_7|>");
  const auto edited = Tokenizer::parse(json, "edited");
  ASSERT_TRUE(edited.has_value()) << edited.error().message;
  EXPECT_EQ(reserved(*edited, config_of(497)), (std::vector<std::int32_t>{494, 496}));
}

TEST(ReservedTokens, RowsOfTheHeadWithoutATokenAreReserved) {
  const Tokenizer mini = load(CACHALOT_BUILD_DIR "/golden/mini-a");
  EXPECT_EQ(reserved(mini, config_of(500)), (std::vector<std::int32_t>{494, 497, 498, 499}));
  EXPECT_EQ(reserved(mini, config_of(494)), (std::vector<std::int32_t>{}))
      << "a row that is shorter has none of the others";
  EXPECT_EQ(reserved(mini, config_of(0)), (std::vector<std::int32_t>{}));
}

TEST(ReservedTokens, ATextNeitherBeginsNorIsPaddedInTheMiddle) {
  const Tokenizer mini = load(CACHALOT_BUILD_DIR "/golden/mini-a");
  Config config = config_of(497);
  config.bos_token_id = 0;
  config.eos_token_id = 1;
  config.pad_token_id = 2;
  EXPECT_EQ(reserved(mini, config), (std::vector<std::int32_t>{0, 2, 494}));
  config.pad_token_id = 1;  // some models pad with the token that ends a text
  EXPECT_EQ(reserved(mini, config), (std::vector<std::int32_t>{0, 494}));
}

}  // namespace
}  // namespace cachalot::reserved_tokens_test
