// SPDX-License-Identifier: Apache-2.0
// One request: a prompt, then token by token until there is a reason to end. Several choices of one request share the
// prompt and then run side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "engine/load_model.h"
#include "engine/logprobs.h"
#include "engine/prefill.h"
#include "engine/sampler.h"

namespace cachalot {

enum class EndReason {
  stop,         // a stop token came; it is the last id, and not in the text
  stop_string,  // the text came to a stop string, which is not in it
  length,       // max_tokens were made
  context,      // the model's context is full
  interrupted,  // the caller asked for it
  enough,       // whoever reads this choice's tokens has seen enough
};
const char* name(EndReason reason);

class DraftPause;
class DraftSource;

// Drafts behind each token, checked in the forward that runs it (draft_source.h): they change the speed, never a bit.
struct Drafting {
  DraftSource* source = nullptr;  // null: none
  std::int64_t count = 0;         // a round, at most; more than the source's block is its block
  DraftPause* pause = nullptr;    // says when drafting pays, from request to request; null: always
};

class PrefixCache;
class PrefixStore;

// Where the beginning of a prompt may come from, and where states are left for later prompts (prompt_snapshots.h): they
// change the speed, never a bit. With a cache the sequence is empty at first, and the prompt is a whole one.
struct Prefixes {
  PrefixCache* cache = nullptr;  // null: none
  PrefixStore* store = nullptr;  // behind the cache, on disk; null: none
};

struct GenerateOptions {
  std::int64_t max_tokens = 256;  // of each choice
  SamplingOptions sampling{};     // choice c draws as `sampling.choice + c`
  std::vector<TokenId> stop_tokens{};
  // Looked for in the text, across the borders of tokens; stop_strings.h says which one counts. One that is complete
  // within the first sampling.min_tokens tokens does not.
  std::vector<std::string> stop_strings{};
  std::int64_t choices = 1;
  std::vector<TokenId> before{};                // what the sequence holds already; only the repetition penalty asks
  SpecialTokens special = SpecialTokens::skip;  // in the text
  std::int64_t logprobs = 0;                    // how many of the most likely tokens to report per step
  std::int64_t chunk = 256;  // prompt rows a step; changes speed and scratch, not a bit of the result
  Prefill prefill = Prefill::exact;
  Drafting drafting{};
  Prefixes prefixes{};
};

struct GeneratedToken {
  TokenId id;
  Position position;        // where it will stand in the sequence
  std::int64_t choice = 0;  // whose it is, from 0
  double logprob = 0;       // these two only when logprobs > 0
  std::vector<TokenLogprob> top;
};

struct Generation;

// All may be empty.
struct GenerateEvents {
  std::function<void(std::int64_t done, std::int64_t total)> prompt{};  // after each chunk, of what has to be run
  std::function<void(const GeneratedToken&)> token{};
  // Text that is certain by now, never empty: whole characters, and nothing of a stop string.
  std::function<void(std::int64_t choice, std::string_view text)> text{};
  std::function<bool(const GeneratedToken&)> enough{};  // asked after each token and its text: true ends its choice
  std::function<bool()> interrupted{};                  // asked between steps and, within one, before each layer
  // All is told, nothing more will come; but states may still have to be kept, which can take a while.
  std::function<void(const Generation&)> complete{};
};

struct Completion {
  std::vector<GeneratedToken> tokens;
  std::string text;
  EndReason end = EndReason::length;
  std::string stop_string;  // the one that ended it
};

// A round is a step behind the prompt's: each choice runs its newest token and the drafts behind it.
struct DraftCounts {
  std::int64_t drafted_rounds = 0, plain_rounds = 0;
  std::vector<std::int64_t> proposed, accepted;  // by place in the block, over all choices

  double accepted_per_round() const;  // of drafted rounds
  void add_proposed(std::size_t drafts) {
    if (drafts > proposed.size()) proposed.resize(drafts), accepted.resize(drafts);
    for (std::size_t i = 0; i < drafts; ++i) ++proposed[i];
  }
  void add(const DraftCounts& other) {
    drafted_rounds += other.drafted_rounds, plain_rounds += other.plain_rounds;
    if (other.proposed.size() > proposed.size())
      proposed.resize(other.proposed.size()), accepted.resize(other.proposed.size());
    for (std::size_t i = 0; i < other.proposed.size(); ++i)
      proposed[i] += other.proposed[i], accepted[i] += other.accepted[i];
  }
};

struct Generation {
  std::vector<Completion> choices;  // as many as were asked for
  DraftCounts drafts;
  std::int64_t cached_tokens = 0;  // of the prompt, that had not to be run
  std::int64_t run_tokens = 0;     // of the others, those that were run: fewer where an interrupt came
  LayerTokens layer_tokens;        // of those
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// Continues `sequence` with the prompt and what follows it; of several choices it goes on as the first one. A choice is
// bit for bit what it would be alone. Reserved ids are never drawn. Errors: an empty prompt, one longer than the
// context, an id outside the vocabulary, options that check_sampling, check_stop_strings or check_prefill refuse, a
// row in which no token is possible, and those of Model::forward. After an error or an interrupt the sequence holds
// what was committed.
Expected<Generation> generate(const LoadedModel& loaded, Context& context, Sequence& sequence,
                              std::span<const TokenId> prompt, const GenerateOptions& options,
                              const GenerateEvents& events = {});

}  // namespace cachalot
