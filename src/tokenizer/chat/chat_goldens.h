// SPDX-License-Identifier: Apache-2.0
// For this folder's tests: the golden vectors of the chat format.
#pragma once

#include "tokenizer/chat/encode.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/golden_files.h"

namespace cachalot {

// One case per line: encode.jsonl, parse.jsonl or stream.jsonl.
inline std::vector<Json> chat_goldens(const std::string& name) {
  std::vector<Json> cases;
  std::ifstream file(CACHALOT_TEST_DATA "/chat/" + name);
  for (std::string line; std::getline(file, line);) {
    auto one = parse_json(line, name, chat_json_rules);
    EXPECT_TRUE(one.has_value()) << (one ? "" : one.error().message);
    if (one) cases.push_back(std::move(*one));
  }
  EXPECT_FALSE(cases.empty()) << name;
  return cases;
}

inline Json parse_or_fail(std::string_view text) {
  auto json = parse_json(text, "test", chat_json_rules);
  EXPECT_TRUE(json.has_value()) << text << ": " << (json ? "" : json.error().message);
  return json ? std::move(*json) : Json();
}

}  // namespace cachalot
