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
  double logprob;  // natural log; -inf for a NaN logit
};

// The `count` most likely tokens, best first, the lower id first on a tie. Numerics: in double, by ascending id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::int64_t count);

double logprob_of(std::span<const float> logits, TokenId id);

}  // namespace cachalot
