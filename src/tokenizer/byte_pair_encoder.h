// SPDX-License-Identifier: Apache-2.0
// Byte-pair merging inside one pre-token (spec: tokenizer.md 2.3).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "base/seeded_hash.h"

namespace cachalot {

struct Merge {
  TokenId left, right, merged;
};

class BytePairEncoder {
 public:
  // Memory that encode() uses again from call to call; one per thread.
  struct Scratch;

  // `merges` in order of rank, best first. Error (Errc::format): a pair that comes twice; `name` is the file.
  static Expected<BytePairEncoder> make(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges,
                                        std::string_view name);

  // Takes a short cut for each listed token that merging its own bytes gives back: whole pre-tokens like it are looked
  // up, not merged. `token_bytes` is borrowed for the encoder's life.
  void learn_whole_tokens(std::span<const std::string_view> token_bytes);

  // Appends the tokens of a pre-token of fewer than 2^31 bytes. Merges the pair of lowest rank, the leftmost first on
  // ties, until no pair is listed. O(n log n).
  void encode(std::string_view pretoken, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Ranked {
    std::uint32_t rank;
    TokenId merged;
  };
  void merge(std::string_view bytes, Scratch& scratch, std::vector<TokenId>& out) const;
  void rank_pair(std::int32_t at, Scratch& scratch) const;

  std::array<TokenId, 256> byte_ids_{};
  HashMap<std::uint64_t, Ranked> pairs_;  // left and right, 32 bits each
  HashMap<std::string_view, TokenId> whole_;
};

struct BytePairEncoder::Scratch {
  // Symbols are a doubly linked list in one array; a symbol sits where its first byte was.
  struct Symbol {
    TokenId id;
    std::int32_t previous, next;  // -1 at the ends
    std::uint32_t rank;           // of the pair with `next`; no_rank where none is listed or the symbol is merged away
    TokenId merged;               // what that pair becomes
  };
  std::vector<Symbol> symbols;
  std::vector<std::uint64_t> heap;  // rank, then place: smallest first is the order wanted
};

}  // namespace cachalot
