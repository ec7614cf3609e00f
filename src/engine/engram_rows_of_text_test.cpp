// SPDX-License-Identifier: Apache-2.0
#include "engine/engram_rows_of_text.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/load_model.h"

namespace cachalot::engram_rows_of_text_test {
namespace {

class HashIds : public Observer {
 public:
  void numbers(std::string_view name, std::int64_t, View<std::int64_t, 2> rows) override {
    if (!name.ends_with("engram.hash_ids")) return;
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      for (const std::int64_t id : rows[r].span()) of_layer[std::string(name)].insert(id);
    }
  }
  std::map<std::string, std::set<std::int64_t>> of_layer;
};

TEST(EngramRowsOfText, AreThoseThatAForwardReads) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const Model& model = loaded->model;
  std::vector<TokenId> text;
  std::vector<Row> rows;
  for (std::int32_t i = 0; i < 20; ++i) {
    text.push_back(TokenId{i * i * 7 % 400});
    rows.push_back({.token = text.back()});
  }
  HashIds seen;
  Context context;
  Sequence sequence = model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  ASSERT_TRUE(model.forward(context, {one, rows, &seen}, logits).has_value());
  const auto got = engram_rows_of_text(model.config(), token_classes(loaded->tokenizer), text);
  ASSERT_TRUE(got.has_value()) << got.error().message;
  ASSERT_EQ(got->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& want = seen.of_layer.at(fmt::format("layers.{}.engram.hash_ids", i == 0 ? 1 : 4));
    EXPECT_EQ((*got)[i], std::vector<std::int64_t>(want.begin(), want.end()));
    EXPECT_GT(want.size(), 60u);
  }
  EXPECT_EQ(engram_rows_of_text(model.config(), token_classes(loaded->tokenizer), {})->at(0).size(), 0u);
}

TEST(EngramRowsOfText, ForeignClassesAndTokensAreRefused) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {});
  ASSERT_TRUE(loaded.has_value());
  Config config = loaded->model.config();
  TokenClasses classes = token_classes(loaded->tokenizer);
  for (const std::int32_t id : {-1, 497}) {
    const TokenId text[] = {TokenId{id}};
    const auto rows = engram_rows_of_text(config, classes, text);
    ASSERT_FALSE(rows.has_value()) << id;
    EXPECT_EQ(rows.error().message, fmt::format("{} is no token id; the model has ids 0 to 496", id));
  }
  ++classes.classes;
  const auto foreign = engram_rows_of_text(config, classes, {});
  ASSERT_FALSE(foreign.has_value());
  EXPECT_NE(foreign.error().message.find("in 432 classes, the config says 497 in 431"), std::string::npos);
  --classes.classes;
  classes.class_of.pop_back();
  EXPECT_FALSE(engram_rows_of_text(config, classes, {}).has_value());
  config.engram_layer_ids.clear();
  EXPECT_TRUE(engram_rows_of_text(config, classes, {})->empty());
}

}  // namespace
}  // namespace cachalot::engram_rows_of_text_test
