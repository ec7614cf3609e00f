// SPDX-License-Identifier: Apache-2.0
// From logits to a token: a function of the row and of (seed, choice, position) alone, so that a batch, a cache or a
// draft changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace cachalot {

struct SamplingOptions {
  double temperature = 0;  // 0: the most likely token, the lower id on a tie
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
};

// Numerics: softmax of logits / temperature in double, summed by ascending id; the token whose share of the sum holds
// the draw. NaN logits count as impossible. logits: [vocab], at least one.
TokenId sample(std::span<const float> logits, const SamplingOptions& options, Position position);

struct TokenLogprob {
  TokenId id;
  double logprob;  // natural log of the model's own probability, before any temperature
};

// The `count` most likely tokens, best first, the lower id first on a tie.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::int64_t count);

double logprob_of(std::span<const float> logits, TokenId id);

}  // namespace cachalot
