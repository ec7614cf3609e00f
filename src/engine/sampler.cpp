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

constexpr float impossible = -std::numeric_limits<float>::infinity();
constexpr double never_bias = -100;  // and below: what the OpenAI API calls a ban

bool better(const Candidate& a, const Candidate& b) { return a.weight != b.weight ? a.weight > b.weight : a.id < b.id; }

std::size_t largest(std::span<const float> logit) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logit.size(); ++i) {
    if (logit[i] > logit[best]) best = i;
  }
  return best;
}

double sum_of(std::span<const Candidate> kept) {
  double sum = 0;
  for (const Candidate& c : kept) sum += c.weight;
  return sum;
}

// From the most probable on until their share of `total` reaches p. They are sorted part by part, as few are mostly
// enough; and those below a certain weight never, since together they are less than half of the 1 - p that may be
// missing.
void keep_top_p(double p, double total, std::vector<Candidate>& kept, std::vector<Candidate>& best) {
  const double missing = 1 - p > 1e-9 ? 1 - p : 0;  // closer to 1 the rounding of sums could matter
  const double least = missing * total / (2 * static_cast<double>(kept.size()));
  best.clear();
  for (const Candidate& c : kept) {
    if (c.weight >= least) best.push_back(c);
  }
  const auto at = [&](std::size_t i) { return best.begin() + static_cast<std::ptrdiff_t>(i); };
  double mass = 0;
  for (std::size_t begin = 0, end = 64; begin < best.size(); begin = end, end *= 4) {
    end = std::min(end, best.size());
    std::ranges::nth_element(at(begin), at(end - 1), best.end(), better);
    std::ranges::sort(at(begin), at(end), better);
    for (std::size_t i = begin; i < end; ++i) {
      mass += best[i].weight;
      if (mass < p * total) continue;
      std::erase_if(kept, [last = best[i]](const Candidate& c) { return better(last, c); });
      return;
    }
  }
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
void Sampler::adjust(std::span<const float> logits, std::span<float> logit) const {
  for (std::size_t i = 0; i < logits.size(); ++i) logit[i] = std::isnan(logits[i]) ? impossible : logits[i];
  const auto known = [&](TokenId id) { return raw(id) >= 0 && static_cast<std::size_t>(raw(id)) < logit.size(); };
  // Changes a logit in double and rounds once.
  const auto change = [&](TokenId id, auto to) {
    check(known(id), "options and tokens are of the vocabulary that the row is of");
    float& l = logit[static_cast<std::size_t>(raw(id))];
    l = static_cast<float>(to(static_cast<double>(l)));
  };
  for (const TokenBias& b : options_.logit_bias) {
    change(b.id, [&](double l) { return b.bias <= never_bias ? impossible : l + b.bias; });
  }
  for (const TokenCounts::Entry& e : counts_.entries()) {
    change(e.id, [&](double l) {
      const double repeated = l > 0 ? l / options_.repetition_penalty : l * options_.repetition_penalty;
      if (e.made == 0) return repeated;
      return repeated - (options_.frequency_penalty * static_cast<double>(e.made) + options_.presence_penalty);
    });
  }
  const auto forbid = [&](std::span<const TokenId> ids) {
    for (const TokenId id : ids) {
      if (known(id)) logit[static_cast<std::size_t>(raw(id))] = impossible;
    }
  };
  forbid(never_);
  if (made() < options_.min_tokens) forbid(stop_tokens_);
}

// Steps 1 to 8: scratch.kept, ascending by id, and its sum. The largest logit always stays.
Status Sampler::keep(std::span<const float> logits, SamplerScratch& scratch) const {
  check(!logits.empty(), "sampling wants a row of logits");
  scratch.logit.resize(logits.size());
  const std::span<float> logit = scratch.logit;
  adjust(logits, logit);
  std::vector<Candidate>& kept = scratch.kept;
  kept.clear();
  scratch.sum = 0;
  const std::size_t best = largest(logit);
  const double top = logit[best];
  if (top == impossible) {
    return fail(Errc::range,
                "no token is possible: each of the {} logits is -inf, or its token is reserved, forbidden by a bias of "
                "{} or less, or a stop token before min_tokens",
                logits.size(), never_bias);
  }
  const auto add = [&](std::size_t id, double weight) {
    if (weight == 0) return;
    kept.push_back({static_cast<std::int32_t>(id), weight});
    scratch.sum += weight;
  };
  if (options_.temperature <= 0 || !std::isfinite(top)) {
    add(best, 1);
    return {};
  }
  const auto scaled = [&](std::size_t id) { return (logit[id] - top) / options_.temperature; };
  const auto size = static_cast<std::int64_t>(logit.size());
  if (options_.top_k > 0 && options_.top_k < size) {
    scratch.room.resize(static_cast<std::size_t>(TopK::room_for(options_.top_k)));
    TopK top_k(options_.top_k, scratch.room);
    top_k.add_all(logit.data(), size, 0);
    for (const TopK::Entry e : top_k.best()) {
      const auto id = static_cast<std::size_t>(TopK::index(e));
      add(id, std::exp(scaled(id)));
    }
  } else {
    // Unless top_p asks for the whole mass, what min_p drops by far needs no exponential.
    const double least = options_.top_p < 1 ? impossible : std::log(options_.min_p) - 1e-6;
    for (std::size_t id = 0; id < logit.size(); ++id) {
      if (const double s = scaled(id); s >= least) add(id, std::exp(s));
    }
  }
  if (options_.top_p < 1) keep_top_p(options_.top_p, scratch.sum, kept, scratch.best);
  if (options_.min_p > 0) std::erase_if(kept, [&](const Candidate& c) { return c.weight < options_.min_p; });
  if (options_.top_p < 1 || options_.min_p > 0) scratch.sum = sum_of(kept);
  return {};
}

Expected<TokenId> Sampler::sample(std::span<const float> logits, Position position, SamplerScratch& scratch) const {
  if (Status possible = keep(logits, scratch); !possible) return tl::unexpected(possible.error());
  if (scratch.kept.size() == 1) return TokenId{scratch.kept.front().id};
  // A race: token i arrives after an exponential time with rate weight_i, so it is first with probability weight_i /
  // sum.
  TokenNoise noise(options_.seed, options_.choice, raw(position));
  double first = std::numeric_limits<double>::infinity();
  std::int32_t winner = scratch.kept.front().id;
  for (const Candidate& c : scratch.kept) {
    const double u = noise(c.id);
    if (1 - u >= first * c.weight) continue;  // -log(u) is larger still: most tokens need no logarithm
    const double time = -std::log(u) / c.weight;
    if (time < first) {
      first = time;
      winner = c.id;
    }
  }
  return TokenId{winner};
}

Expected<std::vector<TokenProbability>> Sampler::distribution(std::span<const float> logits,
                                                              SamplerScratch& scratch) const {
  if (Status possible = keep(logits, scratch); !possible) return tl::unexpected(possible.error());
  std::vector<TokenProbability> all;
  for (const Candidate& c : scratch.kept) all.push_back({TokenId{c.id}, c.weight / scratch.sum});
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
