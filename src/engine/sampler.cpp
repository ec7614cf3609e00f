// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "engine/random.h"

namespace cachalot {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double value(float logit) { return std::isnan(logit) ? impossible : static_cast<double>(logit); }

std::size_t most_likely(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (value(logits[i]) > value(logits[best])) best = i;
  }
  return best;
}

double log_sum_exp(std::span<const float> logits) {
  const double top = value(logits[most_likely(logits)]);
  if (top == impossible) return impossible;
  double sum = 0;
  for (const float l : logits) sum += std::exp(value(l) - top);
  return top + std::log(sum);
}

TokenId token(std::size_t i) { return TokenId{static_cast<std::int32_t>(i)}; }

}  // namespace

TokenId sample(std::span<const float> logits, const SamplingOptions& options, Position position) {
  check(!logits.empty(), "sample wants a row of logits");
  const std::size_t best = most_likely(logits);
  const double top = value(logits[best]);
  if (options.temperature <= 0 || !std::isfinite(top)) return token(best);
  const auto share = [&](std::size_t i) { return std::exp((value(logits[i]) - top) / options.temperature); };
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += share(i);
  const double draw = uniform(options.seed, options.choice, raw(position)) * sum;
  double passed = 0;
  std::size_t last = best;  // the last possible token, should rounding leave the draw at the very end
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double s = share(i);
    if (s == 0) continue;
    passed += s;
    last = i;
    if (draw < passed) break;
  }
  return token(last);
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::int64_t count) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto keep =
      static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(order.size())));
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(keep),
                            [&](std::size_t a, std::size_t b) {
                              const double x = value(logits[a]);
                              const double y = value(logits[b]);
                              return x != y ? x > y : a < b;
                            });
  order.resize(keep);
  const double total = log_sum_exp(logits);
  std::vector<TokenLogprob> best;
  for (const std::size_t i : order) best.push_back({token(i), value(logits[i]) - total});
  return best;
}

double logprob_of(std::span<const float> logits, TokenId id) {
  return value(logits[static_cast<std::size_t>(raw(id))]) - log_sum_exp(logits);
}

}  // namespace cachalot
