// SPDX-License-Identifier: Apache-2.0
// What the last prompt left behind, so that the next one runs only what is new in it. Keeping it never changes a bit of
// a result (ARCHITECTURE.md, idea 4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/sequence.h"

namespace cachalot {

// A sequence and the tokens it has committed. A sequence goes back by its slack and no further, and pruned reasoning
// changes a prompt right behind the one before; so the end of the last prompt is kept as a second place to go on from.
class RememberedPrompt {
 public:
  explicit RememberedPrompt(const StateShape& shape) : now_{Sequence(shape), {}} {}

  // Makes sequence() hold the longest beginning of `prompt` that can be had, and returns its length. Less than all of
  // `prompt`, which must not be empty: its last token gives the logits.
  std::int64_t keep_beginning_of(std::span<const TokenId> prompt);

  Sequence& sequence() { return now_.sequence; }

  // sequence() stands at the end of `prompt`: keep_beginning_of() may come back to here.
  void mark(std::span<const TokenId> prompt);

  // sequence() was given `ids`, from its start on; it may have committed fewer.
  void set_ids(std::vector<TokenId> ids);

  std::span<const TokenId> ids() const { return now_.ids; }
  std::int64_t bytes() const;  // of both places; pages that they share count twice

 private:
  struct Place {
    Sequence sequence;
    std::vector<TokenId> ids;  // as many as the sequence is long

    bool keep_beginning_of(std::span<const TokenId> prompt);
  };

  Place now_;
  std::optional<Place> mark_;
};

}  // namespace cachalot
