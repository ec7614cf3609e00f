// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>

namespace cachalot {

AddedTokens::AddedTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, {}, &Token::content);
  for (const Token& token : tokens_) starts_token_[static_cast<unsigned char>(token.content[0])] = true;
}

std::optional<TokenId> AddedTokens::id_of(std::string_view content) const {
  const auto found =
      std::ranges::lower_bound(tokens_, content, {}, [](const Token& t) { return std::string_view(t.content); });
  if (found == tokens_.end() || found->content != content) return std::nullopt;
  return found->id;
}

// Narrows the sorted tokens to those that share one more byte with the text, byte by byte.
const AddedTokens::Token* AddedTokens::longest_at_start(std::string_view text) const {
  const Token* longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (std::size_t shared = 0; first != last; ++shared) {
    if (first->content.size() == shared) longest = &*first++;
    if (shared == text.size()) break;
    const auto byte_at = [shared](const Token& t) { return static_cast<unsigned char>(t.content[shared]); };
    const auto byte = static_cast<unsigned char>(text[shared]);
    first = std::ranges::lower_bound(first, last, byte, {}, byte_at);
    last = std::ranges::upper_bound(first, last, byte, {}, byte_at);
  }
  return longest;
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text) const {
  std::vector<Piece> pieces;
  std::size_t done = 0, pos = 0;
  const auto cut = [&](std::size_t end, std::optional<TokenId> token) {
    if (end > done) pieces.push_back({text.substr(done, end - done), token});
    done = end;
  };
  while (pos < text.size()) {
    const bool may_start = starts_token_[static_cast<unsigned char>(text[pos])];
    if (const Token* token = may_start ? longest_at_start(text.substr(pos)) : nullptr) {
      cut(pos, std::nullopt);
      pos += token->content.size();
      cut(pos, token->id);
    } else {
      ++pos;
    }
  }
  cut(pos, std::nullopt);
  return pieces;
}

}  // namespace cachalot
