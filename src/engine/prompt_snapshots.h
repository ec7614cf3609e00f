// SPDX-License-Identifier: Apache-2.0
// What one request takes from the prefix cache, and leaves there: where its prompt begins to be run, and at which
// positions its chunks end so that a snapshot can be taken. Neither changes a bit of the result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/generate.h"

namespace cachalot {

class PromptSnapshots {
 public:
  // Borrows the options and the prompt. Without a cache in the options all of it does nothing.
  PromptSnapshots(const Model& model, const GenerateOptions& options, std::span<const TokenId> prompt);

  // Makes `sequence`, which is empty, hold the longest beginning of the prompt that memory or the folder has. Its
  // length.
  std::int64_t resume(Sequence& sequence);

  // The file that the sequence was resumed from; empty where it was none.
  const std::filesystem::path& file() const { return file_; }
  // Takes that file for a bad one: the folder drops it, and memory what may come from it.
  void distrust();

  // How many of `rows` may run next, from `position` on: no chunk goes past a place for a snapshot.
  std::int64_t chunk(std::int64_t position, std::int64_t rows) const;

  // Behind each chunk of the prompt.
  void committed(const Sequence& sequence);

  // Behind each step of the answer: keeps a state every answer_every positions, so that the next prompt goes on close
  // to where its tokens become others than the ones that were drawn.
  void decoded(const Sequence& sequence, std::span<const GeneratedToken> tokens);

  // At the request's end, once every token was told: only now is anything written to disk.
  void end(const Sequence& sequence, std::span<const GeneratedToken> tokens);

 private:
  std::vector<TokenId> ids_of(const Sequence& sequence, std::span<const GeneratedToken> tokens) const;

  const Prefixes& prefixes_;
  std::span<const TokenId> prompt_;
  std::optional<Sequence> header_;  // for the folder
  std::int64_t decoded_ = 0;        // length of the newest state within the answer, or of the prompt
  std::filesystem::path file_;
};

}  // namespace cachalot
