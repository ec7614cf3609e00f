// SPDX-License-Identifier: Apache-2.0
// One completion of a request while it grows: draws, text, stop strings, reasons to end. Part of generate().
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/draft_source.h"
#include "engine/generate.h"
#include "engine/stop_strings.h"

namespace cachalot {

class Choice {
 public:
  // Borrows all of them. `before`: what stands before the completion.
  Choice(const LoadedModel& loaded, const GenerateOptions& options, const GenerateEvents& events, std::int64_t number,
         Sequence& sequence, Completion& completion, std::span<const TokenId> before, SamplerScratch& scratch);

  Sequence* sequence() const { return sequence_; }
  TokenId newest() const { return completion_->tokens.back().id; }
  bool ended() const { return ended_; }

  void end(EndReason reason);

  // Draws the token that will stand at `position` from its row of logits.
  Status draw(std::span<const float> logits, Position position);

  // What to ask of a draft source: at most `most` drafts, and none that could not be used.
  DraftRequest ask(std::int64_t most);
  // Once it was answered: forgets the draws that the source made, and drafts behind a stop token.
  void answered(DraftRequest& request);
  // The sequence has run the newest token and the drafts; logits: [1 + drafts, vocab]. Draws while the drafts are what
  // is drawn, and takes the other rows back. Counts drafts in `counts`.
  Status take_round(std::span<const TokenId> drafts, std::span<const float> logits, DraftCounts& counts);

 private:
  bool is_stop(TokenId id) const;
  Status take(const GeneratedToken& token);
  void give(const std::string& text);

  const GenerateOptions& options_;
  const GenerateEvents& events_;
  std::int64_t number_;
  std::int64_t limit_;
  Sequence* sequence_;
  Completion* completion_;
  SamplerScratch& scratch_;
  Sampler sampler_;
  std::int64_t guessed_ = 0;  // tokens pushed to the sampler that a source drew
  TextStream stream_;
  StopStrings stops_;
  bool ended_ = false;
};

}  // namespace cachalot
