// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as the model was trained (spec: tokenizer.md). Const means thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_pair_encoder.h"
#include "tokenizer/string_table.h"
#include "tokenizer/tokenizer_file.h"

namespace cachalot {

enum class SpecialTokens { keep, skip };  // skip leaves out ids of which is_special() says yes

class Tokenizer {
 public:
  // From a model's directory or its tokenizer.json, which has as many tokens as `count` says. Errors: Errc::missing, io
  // and range (over 256 MiB) for the file, Errc::memory where there is no room to read it, else as parse().
  static Expected<Tokenizer> load(const std::filesystem::path& dir_or_file, const TokenCount& count = {});

  // `name` is the file's name in messages. Errors: Errc::format, for a file that is damaged, contradicts itself (ids
  // that repeat or leave gaps, merges of unknown tokens) or is of another kind than the released one.
  static Expected<Tokenizer> parse(std::string_view json, std::string_view name, const TokenCount& count = {});

  Tokenizer(Tokenizer&&) = default;
  Tokenizer& operator=(Tokenizer&&) = default;

  // Ids are 0 .. vocab_size() - 1, base and added tokens together.
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(bytes_.size()); }
  bool contains(TokenId id) const { return raw(id) >= 0 && raw(id) < vocab_size(); }

  // Added tokens that stand in the text become their ids, special or not. No BOS or EOS is added. Spec 2.
  // Errors: Errc::format for text that is not UTF-8, Errc::range for text of 2^31 bytes or more.
  Expected<std::vector<TokenId>> encode(std::string_view text) const;

  // For text that must not be able to say an added token: `<think>` becomes `<`, `think`, `>`. Errors as encode().
  Expected<std::vector<TokenId>> encode_plain(std::string_view text) const;

  // UTF-8; each maximal ill-formed part becomes U+FFFD. Spec 3. Error: Errc::range for an id the vocabulary lacks.
  Expected<std::string> decode(std::span<const TokenId> ids, SpecialTokens special) const;

  // The id of an added token, such as "<think>"; empty where the file lists none.
  std::optional<TokenId> id_of(std::string_view content) const;

  // These three stop the program unless contains(id).
  std::string_view token_bytes(TokenId id) const;  // what it decodes to; not always UTF-8 by itself
  std::string_view spelling(TokenId id) const;     // as the file spells it: byte alphabet, or an added token's content
  bool is_special(TokenId id) const;

  std::size_t longest_token() const;  // bytes of the token that has most

 private:
  Tokenizer() = default;
  static Expected<Tokenizer> build(const TokenizerFile& file, std::string_view name);
  std::size_t index_of(TokenId id) const;

  StringTable bytes_, spellings_;
  std::vector<bool> special_;
  AddedTokens first_pass_, second_pass_;  // normalized false, then true
  BytePairEncoder encoder_;               // borrows from bytes_
};

// Decodes ids as they come. The pieces together are decode() of all ids: a character that is not complete yet waits
// (at most three bytes), what can't become one is U+FFFD at once.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, SpecialTokens special) : tokenizer_(&tokenizer), special_(special) {}

  // May be empty. Error: Errc::range for an id the vocabulary lacks; the stream is unchanged then.
  Expected<std::string> push(TokenId id);

  // U+FFFD where an incomplete character still waits, else empty. The stream is as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  SpecialTokens special_;
  Utf8Stream utf8_;
};

}  // namespace cachalot
