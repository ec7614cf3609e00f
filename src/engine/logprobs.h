// SPDX-License-Identifier: Apache-2.0
// The model's own probabilities of tokens: before bias, penalties, masks, temperature and filters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace cachalot {

struct TokenLogprob {
  TokenId id;
  double logprob;  // natural log
};

struct Logprobs {
  double chosen;
  std::vector<TokenLogprob> top;  // best first, the lower id first on a tie
};

// Of the token that was chosen and of the `count` most likely ones. Numerics: in double, the sum by ascending id; NaN
// logits count as -inf. logits: [vocab], at least one.
Logprobs logprobs(std::span<const float> logits, TokenId chosen, std::int64_t count);

}  // namespace cachalot
