// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/machine_memory.h"
#include "base/utf8.h"
#include "tokenizer/pretokenizer.h"

namespace cachalot {
namespace {

constexpr std::size_t encoding_share = 90;  // bytes that one of text may take: growing lists of places inside a piece
constexpr std::size_t largest_text = (std::size_t{1} << 31) - 1;  // BPE links symbols by 32-bit places

Status expect_text(std::string_view text) {
  if (text.size() > largest_text) {
    return fail(Errc::range, "text to encode: {} bytes, expected at most {}", text.size(), largest_text);
  }
  if (auto s = expect_utf8(text, "text to encode"); !s) return s;
  return expect_room(static_cast<std::int64_t>(text.size() * encoding_share), "tokenizing this text");
}

void encode_piece(const BytePairEncoder& encoder, std::string_view text, BytePairEncoder::Scratch& scratch,
                  std::vector<TokenId>& ids) {
  for (const std::string_view pretoken : split_pretokens(text)) encoder.encode(pretoken, scratch, ids);
}

}  // namespace

Expected<std::vector<TokenId>> Tokenizer::encode(std::string_view text) const {
  if (auto s = expect_text(text); !s) return tl::unexpected(s.error());
  BytePairEncoder::Scratch scratch;
  std::vector<TokenId> ids;
  for (const AddedTokens::Piece& outer : first_pass_.split(text)) {
    if (outer.token) {
      ids.push_back(*outer.token);
      continue;
    }
    for (const AddedTokens::Piece& inner : second_pass_.split(outer.text)) {
      if (inner.token) {
        ids.push_back(*inner.token);
      } else {
        encode_piece(encoder_, inner.text, scratch, ids);
      }
    }
  }
  return ids;
}

Expected<std::vector<TokenId>> Tokenizer::encode_plain(std::string_view text) const {
  if (auto s = expect_text(text); !s) return tl::unexpected(s.error());
  BytePairEncoder::Scratch scratch;
  std::vector<TokenId> ids;
  encode_piece(encoder_, text, scratch, ids);
  return ids;
}

Expected<std::string> Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  TextStream stream(*this, special);
  std::string text;
  for (const TokenId id : ids) {
    auto piece = stream.push(id);
    if (!piece) return piece;
    text += *piece;
  }
  return text + stream.finish();
}

std::optional<TokenId> Tokenizer::id_of(std::string_view content) const {
  const auto id = first_pass_.id_of(content);
  return id ? id : second_pass_.id_of(content);
}

std::string_view Tokenizer::token_bytes(TokenId id) const { return bytes_[index_of(id)]; }
std::string_view Tokenizer::spelling(TokenId id) const { return spellings_[index_of(id)]; }
bool Tokenizer::is_special(TokenId id) const { return special_[index_of(id)]; }

std::size_t Tokenizer::longest_token() const {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) longest = std::max(longest, bytes_[i].size());
  return longest;
}

std::size_t Tokenizer::index_of(TokenId id) const {
  check(contains(id), "the token id is in the vocabulary");
  return static_cast<std::size_t>(raw(id));
}

Expected<std::string> TextStream::push(TokenId id) {
  if (!tokenizer_->contains(id)) {
    return fail(Errc::range, "token id {}, expected 0 to {}", raw(id), tokenizer_->vocab_size() - 1);
  }
  std::string text;
  if (special_ == SpecialTokens::keep || !tokenizer_->is_special(id)) utf8_.push(tokenizer_->token_bytes(id), text);
  return text;
}

std::string TextStream::finish() {
  std::string text;
  utf8_.finish(text);
  return text;
}

}  // namespace cachalot
