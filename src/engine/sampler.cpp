// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "engine/random.h"

namespace cachalot {
namespace {

using Candidate = SamplerScratch::Candidate;

constexpr double impossible = -std::numeric_limits<double>::infinity();
constexpr double never_bias = -100;  // and below: what the OpenAI API calls a ban

TokenId token(std::size_t i) { return TokenId{static_cast<std::int32_t>(i)}; }

bool better(const Candidate& a, const Candidate& b) { return a.value != b.value ? a.value > b.value : a.id < b.id; }
bool lower_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

std::size_t largest(std::span<const double> logit) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logit.size(); ++i) {
    if (logit[i] > logit[best]) best = i;
  }
  return best;
}

// The k best possible ids, ascending. The heap's front is the worst of those kept so far; few of a row get past it.
void keep_top_k(std::span<const double> logit, std::size_t k, std::vector<Candidate>& kept) {
  for (std::size_t i = 0; i < logit.size(); ++i) {
    if (logit[i] == impossible || (kept.size() == k && logit[i] <= kept.front().value)) continue;
    if (kept.size() == k) {
      std::ranges::pop_heap(kept, better);
      kept.pop_back();
    }
    kept.push_back({raw(token(i)), logit[i]});
    std::ranges::push_heap(kept, better);
  }
  std::ranges::sort(kept, lower_id);
}

double sum_of(std::span<const Candidate> kept) {
  double sum = 0;
  for (const Candidate& c : kept) sum += c.value;
  return sum;
}

// From the most probable on until their share reaches p; ids ascending again. Tokens below a certain weight need no
// sorting: together they are less than half of the 1 - p that may be missing.
void keep_top_p(double p, std::vector<Candidate>& kept, std::vector<Candidate>& heap) {
  const double total = sum_of(kept);
  const double missing = 1 - p > 1e-9 ? 1 - p : 0;  // closer to 1 the sums' rounding could matter
  const double least = missing * total / (2 * static_cast<double>(kept.size()));
  heap.clear();
  for (const Candidate& c : kept) {
    if (c.value >= least) heap.push_back(c);
  }
  const auto worse = [](const Candidate& a, const Candidate& b) { return better(b, a); };
  std::ranges::make_heap(heap, worse);
  kept.clear();
  double mass = 0;
  do {
    std::ranges::pop_heap(heap, worse);
    kept.push_back(heap.back());
    heap.pop_back();
    mass += kept.back().value;
  } while (mass < p * total && !heap.empty());
  std::ranges::sort(kept, lower_id);
}

}  // namespace

Sampler::Sampler(SamplingOptions options, std::span<const TokenId> never, std::span<const TokenId> stop_tokens)
    : options_(std::move(options)),
      never_(never.begin(), never.end()),
      stop_tokens_(stop_tokens.begin(), stop_tokens.end()) {}

void Sampler::start(std::span<const TokenId> prompt) {
  output_.clear();
  counts_.clear();
  if (options_.repetition_penalty == 1) return;
  for (const TokenId t : prompt) counts_.add_prompt(t);
}

void Sampler::push(TokenId token) {
  output_.push_back(token);
  if (options_.penalizes()) counts_.push(token);
}

void Sampler::pop() {
  check(!output_.empty(), "there is a token to take back");
  if (options_.penalizes()) counts_.pop(output_.back());
  output_.pop_back();
}

// Steps 1 to 4.
void Sampler::adjust(std::span<const float> logits, std::span<double> logit) const {
  const auto at = [&](TokenId id) -> double& {
    check(raw(id) >= 0 && static_cast<std::size_t>(raw(id)) < logit.size(), "options were checked against the row");
    return logit[static_cast<std::size_t>(raw(id))];
  };
  for (std::size_t i = 0; i < logits.size(); ++i) logit[i] = std::isnan(logits[i]) ? impossible : double{logits[i]};
  for (const TokenBias& b : options_.logit_bias) at(b.id) = b.bias <= never_bias ? impossible : at(b.id) + b.bias;
  for (const TokenCounts::Entry& e : counts_.entries()) {
    double& l = at(e.id);
    l = l > 0 ? l / options_.repetition_penalty : l * options_.repetition_penalty;
    if (e.made > 0) l -= options_.frequency_penalty * static_cast<double>(e.made) + options_.presence_penalty;
  }
  const auto forbid = [&](std::span<const TokenId> ids) {
    for (const TokenId id : ids) {
      if (raw(id) >= 0 && static_cast<std::size_t>(raw(id)) < logit.size()) at(id) = impossible;
    }
  };
  forbid(never_);
  if (made() < options_.min_tokens) forbid(stop_tokens_);
}

// Steps 1 to 8: scratch.kept, ascending by id, and its sum. The largest logit always stays.
Status Sampler::keep(std::span<const float> logits, SamplerScratch& scratch) const {
  check(!logits.empty(), "sampling wants a row of logits");
  scratch.logit.resize(logits.size());
  adjust(logits, scratch.logit);
  std::vector<Candidate>& kept = scratch.kept;
  kept.clear();
  const std::size_t best = largest(scratch.logit);
  const double top = scratch.logit[best];
  if (top == impossible) {
    return fail(Errc::range,
                "no token is possible: each of the {} logits is -inf, or its token is reserved, forbidden by a bias of "
                "{} or less, or a stop token before min_tokens",
                logits.size(), never_bias);
  }
  if (options_.temperature <= 0 || !std::isfinite(top)) {
    kept.push_back({raw(token(best)), 1});
    scratch.sum = 1;
    return {};
  }
  const auto weight = [&](double logit) { return std::exp((logit - top) / options_.temperature); };
  if (options_.top_k > 0 && options_.top_k < static_cast<std::int64_t>(logits.size())) {
    keep_top_k(scratch.logit, static_cast<std::size_t>(options_.top_k), kept);
    for (Candidate& c : kept) c.value = weight(c.value);
  } else {
    // Where top_p does not ask for the whole mass, what min_p drops by far needs no exponential.
    const double least = options_.top_p < 1 ? impossible : std::log(options_.min_p) - 1e-6;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if ((scratch.logit[i] - top) / options_.temperature < least) continue;
      kept.push_back({raw(token(i)), weight(scratch.logit[i])});
    }
  }
  std::erase_if(kept, [](const Candidate& c) { return c.value == 0; });
  if (options_.top_p < 1) keep_top_p(options_.top_p, kept, scratch.heap);
  if (options_.min_p > 0) std::erase_if(kept, [&](const Candidate& c) { return c.value < options_.min_p; });
  scratch.sum = sum_of(kept);
  return {};
}

Expected<TokenId> Sampler::sample(std::span<const float> logits, Position position, SamplerScratch& scratch) const {
  if (Status possible = keep(logits, scratch); !possible) return tl::unexpected(possible.error());
  const double draw = uniform(options_.seed, options_.choice, raw(position)) * scratch.sum;
  double passed = 0;
  for (const Candidate& c : scratch.kept) {
    passed += c.value;
    if (draw < passed) return TokenId{c.id};
  }
  return TokenId{scratch.kept.back().id};  // rounding left the draw at the very end
}

Expected<std::vector<TokenProbability>> Sampler::distribution(std::span<const float> logits,
                                                              SamplerScratch& scratch) const {
  if (Status possible = keep(logits, scratch); !possible) return tl::unexpected(possible.error());
  std::vector<TokenProbability> all;
  for (const Candidate& c : scratch.kept) all.push_back({TokenId{c.id}, c.value / scratch.sum});
  return all;
}

Status check_sampling(const SamplingOptions& o, std::int64_t vocab) {
  const auto wrong = [](std::string_view field, double value, std::string_view allowed) {
    return fail(Errc::usage, "{} {}: expected {}", field, value, allowed);
  };
  // Written so that NaN fails each.
  if (!(o.temperature >= 0 && std::isfinite(o.temperature)))
    return wrong("temperature", o.temperature, "a number from 0 on");
  if (!(o.top_p > 0 && o.top_p <= 1)) return wrong("top_p", o.top_p, "a number above 0, at most 1");
  if (!(o.min_p >= 0 && o.min_p <= 1)) return wrong("min_p", o.min_p, "a number from 0 to 1");
  if (!(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty)))
    return wrong("repetition_penalty", o.repetition_penalty, "a number above 0");
  if (!std::isfinite(o.presence_penalty)) return wrong("presence_penalty", o.presence_penalty, "a finite number");
  if (!std::isfinite(o.frequency_penalty)) return wrong("frequency_penalty", o.frequency_penalty, "a finite number");
  if (o.top_k < 0) return fail(Errc::usage, "top_k {}: expected a whole number from 0 (off) on", o.top_k);
  if (o.min_tokens < 0) return fail(Errc::usage, "min_tokens {}: expected a whole number from 0 on", o.min_tokens);
  for (const TokenBias& b : o.logit_bias) {
    if (raw(b.id) < 0 || raw(b.id) >= vocab)
      return fail(Errc::usage, "logit_bias of token {}: the vocabulary has ids 0 to {}", raw(b.id), vocab - 1);
    if (!std::isfinite(b.bias))
      return fail(Errc::usage, "logit_bias of token {} is {}: expected a finite number", raw(b.id), b.bias);
  }
  return {};
}

}  // namespace cachalot
