// SPDX-License-Identifier: Apache-2.0
#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cachalot {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double value(float logit) { return std::isnan(logit) ? impossible : static_cast<double>(logit); }

double log_sum_exp(std::span<const float> logits) {
  double top = impossible;
  for (const float l : logits) top = std::max(top, value(l));
  if (top == impossible) return impossible;
  double sum = 0;
  for (const float l : logits) sum += std::exp(value(l) - top);
  return top + std::log(sum);
}

}  // namespace

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
  for (const std::size_t i : order) best.push_back({TokenId{static_cast<std::int32_t>(i)}, value(logits[i]) - total});
  return best;
}

double logprob_of(std::span<const float> logits, TokenId id) {
  return value(logits[static_cast<std::size_t>(raw(id))]) - log_sum_exp(logits);
}

}  // namespace cachalot
