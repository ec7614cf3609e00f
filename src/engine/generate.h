// SPDX-License-Identifier: Apache-2.0
// One request: a prompt, then token by token until there is a reason to end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "engine/sampler.h"
#include "model/model.h"

namespace cachalot {

enum class EndReason {
  stop,         // a stop token came; it is the last id
  length,       // max_tokens were made
  context,      // the model's context is full
  interrupted,  // the caller asked for it
};
const char* name(EndReason reason);

struct GenerateOptions {
  std::int64_t max_tokens = 256;
  SamplingOptions sampling{};
  std::vector<TokenId> stop_tokens{};
  std::int64_t logprobs = 0;  // how many of the most likely tokens to report per step
  std::int64_t chunk = 256;   // prompt rows a step; changes speed and scratch, not a bit of the result
};

struct GeneratedToken {
  TokenId id;
  Position position;   // where it will stand in the sequence
  double logprob = 0;  // these two only when logprobs > 0
  std::vector<TokenLogprob> top;
};

struct GenerateEvents {
  std::function<void(std::int64_t done, std::int64_t total)> prompt;  // after each chunk
  std::function<void(const GeneratedToken&)> token;
  std::function<bool()> interrupted;  // asked between steps
};

struct Generation {
  std::vector<GeneratedToken> tokens;
  EndReason end = EndReason::length;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// Continues `sequence` with the prompt and what follows it. Errors: an empty prompt, one longer than the context, an id
// outside the vocabulary, and those of Model::forward. After an error or an interrupt the sequence holds what was
// committed.
Expected<Generation> generate(const Model& model, Context& context, Sequence& sequence, std::span<const TokenId> prompt,
                              const GenerateOptions& options, const GenerateEvents& events = {});

}  // namespace cachalot
