// SPDX-License-Identifier: Apache-2.0
// What a tokenizer.json says (spec: tokenizer.md). Only the released kind is read: byte-level BPE behind the released
// pre-tokenizer's patterns. Any setting that would change the ids is refused by name.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace cachalot {

// How many tokens whoever asks for a tokenizer can use: what a config says.
struct TokenCount {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// As found: ids are any number, names may repeat. tokenizer.cpp checks them against each other.
struct TokenizerFile {
  struct BaseToken {
    std::string spelling;  // in the byte alphabet
    std::int64_t id;
  };
  struct AddedToken {
    std::string content;
    std::int64_t id;
    bool normalized;  // found in the second pass over the text
    bool special;     // left out by decoding without special tokens
  };
  std::vector<BaseToken> base;
  std::vector<std::pair<std::string, std::string>> merges;  // spellings of left and right, best first
  std::vector<AddedToken> added;
};

// `name` is the file's name in messages. Merges are read once the ids of all tokens were found to be as many as `count`
// says. Error: Errc::format.
Expected<TokenizerFile> read_tokenizer_file(std::string_view json, std::string_view name, const TokenCount& count = {});

}  // namespace cachalot
