// SPDX-License-Identifier: Apache-2.0
// For this room's tests: the golden vectors and the tokenizers they belong to.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty()) << path << " is missing or empty";
  return text;
}

inline Json json_of_text(std::string_view text, std::string_view what) {
  auto json = parse_json(text, what);
  EXPECT_TRUE(json.has_value()) << (json ? "" : json.error().message);
  return json ? std::move(*json) : Json();
}

inline std::string golden_path(const std::string& name) { return CACHALOT_TEST_DATA "/tokenizer/" + name; }
inline const std::string released_path = CACHALOT_BUILD_DIR "/golden/released_tokenizer/tokenizer.json";
inline const std::string mini_path = CACHALOT_BUILD_DIR "/golden/mini-a";

inline Json golden_json(const std::string& name) { return json_of_text(text_of_file(golden_path(name)), name); }

// One case per line of a .jsonl file.
inline std::vector<Json> golden_cases(const std::string& name) {
  std::vector<Json> cases;
  std::ifstream file(golden_path(name));
  for (std::string line; std::getline(file, line);) cases.push_back(json_of_text(line, name));
  EXPECT_FALSE(cases.empty()) << name;
  return cases;
}

inline std::string string_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  const std::string* text = value ? value->as_string() : nullptr;
  EXPECT_NE(text, nullptr) << key;
  return text ? *text : "";
}

inline std::int64_t int_of(const Json& value) { return value.as_int64().value(); }

inline std::vector<TokenId> ids_at(const Json& object, std::string_view key) {
  std::vector<TokenId> ids;
  for (const Json& id : object.find(key)->items()) ids.push_back(TokenId{static_cast<std::int32_t>(int_of(id))});
  return ids;
}

inline Tokenizer load_or_stop(const std::string& path) {
  auto tokenizer = Tokenizer::load(path);
  check(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message.c_str());
  return std::move(*tokenizer);
}

inline const Tokenizer& released_tokenizer() {
  static const Tokenizer tokenizer = load_or_stop(released_path);
  return tokenizer;
}

inline const Tokenizer& mini_tokenizer() {
  static const Tokenizer tokenizer = load_or_stop(mini_path);
  return tokenizer;
}

}  // namespace cachalot
