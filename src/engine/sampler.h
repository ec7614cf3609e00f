// SPDX-License-Identifier: Apache-2.0
// From logits to a token: a function of the row, of the tokens before it, of the options and of (seed, choice,
// position) alone, so that a batch, a cache or a draft changes nothing.
//
// What happens to a row, in this order:
//   1. logit bias           added; -100 or less: never
//   2. repetition penalty   of each token of the prompt or the output: a positive logit is divided, another multiplied
//   3. frequency, presence  of each token of the output: logit - (frequency * times made + presence)
//   4. masks                reserved ids; stop tokens while fewer than min_tokens are made: impossible
//   5. temperature          0: the largest logit, the lower id on a tie, and nothing more
//   6. top_k                the k largest
//   7. top_p                the smallest set of the most probable of these whose share of their mass is at least p
//   8. min_p                of these, whose probability is at least min_p times the largest
//   9. draw                 in proportion to what is left: every token has its own noise, and the first of a race wins
// Why so: bias and penalties are in units of the model's logits, so they come before the temperature stretches them.
// A mask is set to -inf, not added, and set last: nothing before it can bring a token back. The filters speak of
// probabilities, so they see those that the temperature made; top_k is first because top_p's mass is of what it left,
// and min_p is last because its measure, the largest probability, stays whatever the two before it cut. The race
// (Gumbel-max) makes two rows that are nearly alike give the same token nearly always, whatever the order of ids: a
// draft that is drawn with the noise of its position is then accepted nearly as often as any rule could
// (engine/draft_source.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "device/cpu/top_k.h"
#include "engine/token_counts.h"

namespace cachalot {

struct TokenBias {
  TokenId id;
  double bias;
};

struct SamplingOptions {
  double temperature = 0;  // 0: the most likely token, the lower id on a tie
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::int64_t top_k = 0;         // 0: off
  double top_p = 1;               // above 0; 1: off
  double min_p = 0;               // 0 to 1; 0: off, 1: only the largest and its equals
  double repetition_penalty = 1;  // above 0; 1: off
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::int64_t min_tokens = 0;  // so many tokens before a stop token may be drawn
  std::vector<TokenBias> logit_bias{};

  bool penalizes() const { return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0; }
};

// Errc::usage for a number outside what the fields above may be, NaN and infinity among them, or a biased id outside
// the vocabulary; the message names field, value and what is allowed.
Status check_sampling(const SamplingOptions& options, std::int64_t vocab);

struct TokenProbability {
  TokenId id;
  double probability;
};

// Memory that sample() works in; one for any number of samplers, not at the same time.
struct SamplerScratch {
  struct Candidate {
    std::int32_t id;
    double weight;  // exp((logit - largest) / temperature): 1 for the most probable
  };
  std::vector<float> logit;  // [vocab]
  std::vector<Candidate> kept, best;
  std::vector<TopK::Entry> room;
  double sum = 0;  // of kept's weights
};

class Sampler {
 public:
  // Options have passed check_sampling. `never`: ids that no draw gives, whatever their logits (reserved_tokens.h).
  // stop_tokens: what min_tokens forbids for a while. An id that a row does not have is passed over in both.
  explicit Sampler(SamplingOptions options, std::span<const TokenId> never = {},
                   std::span<const TokenId> stop_tokens = {});

  // The tokens that come before it: `prompt` is everything before the output. start() forgets the output, push() adds a
  // token to it, pop() takes the newest one back, as when a draft is rejected. What a row gives depends on these
  // tokens, never on the way to them.
  void start(std::span<const TokenId> prompt);
  void push(TokenId token);
  void pop();
  std::int64_t made() const { return static_cast<std::int64_t>(output_.size()); }

  // The token for `position`. Numerics: in double; a logit that bias or penalties change is rounded to f32 after each
  // of the two; sums go by ascending id, but top_p's mass from the most probable token on. NaN logits count as
  // impossible; +inf, the lowest id of several, wins alone. logits: [vocab]. Error: Errc::range where no token is
  // possible.
  Expected<TokenId> sample(std::span<const float> logits, Position position, SamplerScratch& scratch) const;

  // What sample() draws from: every id that it can give, ascending, with its probability.
  Expected<std::vector<TokenProbability>> distribution(std::span<const float> logits, SamplerScratch& scratch) const;

 private:
  Status keep(std::span<const float> logits, SamplerScratch& scratch) const;
  void adjust(std::span<const float> logits, std::span<float> logit) const;

  SamplingOptions options_;
  std::vector<TokenId> never_, stop_tokens_;
  std::vector<TokenId> output_;
  TokenCounts counts_;  // empty while no penalty asks for them
};

}  // namespace cachalot
