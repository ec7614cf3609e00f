// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer_fit.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"

namespace cachalot::tokenizer_fit_test {
namespace {

const std::string mini_a = CACHALOT_BUILD_DIR "/golden/mini-a";

Config config() {
  const auto file = MappedFile::open(mini_a + "/config.json").value();
  return parse_config(file.text(), "config.json").value().config;
}

TEST(TokenizerFit, ThatOfTheModelFitsAndOneOfAnotherDoesNot) {
  const Tokenizer own = Tokenizer::load(mini_a).value();
  EXPECT_TRUE(expect_tokenizer_fits(own, config()).has_value());
  const Tokenizer other = Tokenizer::load(CACHALOT_TEST_DATA "/../../models/prototype").value();
  const Status refused = expect_tokenizer_fits(other, config());
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("ids up to 2559"), std::string::npos) << refused.error().message;
}

TEST(TokenizerFit, ClassesCountWhereThereAreEngramLayersOnly) {
  const Tokenizer own = Tokenizer::load(mini_a).value();
  Config c = config();
  ASSERT_FALSE(c.engram_layer_ids.empty());
  ++c.engram_compressed_vocab_size;
  EXPECT_FALSE(expect_tokenizer_fits(own, c).has_value());
  c.engram_layer_ids.clear();
  EXPECT_TRUE(expect_tokenizer_fits(own, c).has_value());
  c.vocab_size = own.vocab_size() - 1;
  EXPECT_FALSE(expect_tokenizer_fits(own, c).has_value());
}

}  // namespace
}  // namespace cachalot::tokenizer_fit_test
