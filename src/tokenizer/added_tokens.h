// SPDX-License-Identifier: Apache-2.0
// Finds added tokens in a text (spec: tokenizer.md 2.1): literal, leftmost, the longest at a place, case-sensitive.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace cachalot {

class AddedTokens {
 public:
  struct Token {
    std::string content;
    TokenId id;
  };
  // A stretch of the text: an added token, or what lies between two.
  struct Piece {
    std::string_view text;
    std::optional<TokenId> token;
  };

  // Contents must differ and not be empty.
  explicit AddedTokens(std::vector<Token> tokens = {});

  std::optional<TokenId> id_of(std::string_view content) const;

  // Together the pieces are `text`; none is empty.
  std::vector<Piece> split(std::string_view text) const;

 private:
  const Token* longest_at_start(std::string_view text) const;

  std::vector<Token> tokens_;             // ascending by content
  std::array<bool, 256> starts_token_{};  // whether a token begins with this byte
};

}  // namespace cachalot
