// SPDX-License-Identifier: Apache-2.0
#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "device/cpu/top_k.h"

namespace cachalot {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

double value(float logit) { return std::isnan(logit) ? never : static_cast<double>(logit); }

double log_sum_exp(std::span<const float> logits) {
  double top = never;
  for (const float l : logits) top = std::max(top, value(l));
  if (top == never) return never;
  double sum = 0;
  for (const float l : logits) sum += std::exp(value(l) - top);
  return top + std::log(sum);
}

}  // namespace

Logprobs logprobs(std::span<const float> logits, TokenId chosen, std::int64_t count) {
  const auto vocab = static_cast<std::int64_t>(logits.size());
  check(raw(chosen) >= 0 && raw(chosen) < vocab, "the chosen token is one of the row");
  const double total = log_sum_exp(logits);
  const auto of = [&](std::int32_t id) { return value(logits[static_cast<std::size_t>(id)]) - total; };
  Logprobs found{.chosen = of(raw(chosen)), .top = {}};
  const std::int64_t k = std::clamp<std::int64_t>(count, 0, vocab);
  if (k == 0) return found;
  std::vector<TopK::Entry> room(static_cast<std::size_t>(TopK::room_for(k)));
  TopK top_k(k, room);
  top_k.add_all(logits.data(), vocab, 0);
  const auto best = top_k.best();
  std::vector<TopK::Entry> ordered(best.begin(), best.end());
  std::ranges::sort(ordered, std::ranges::greater());
  for (const TopK::Entry e : ordered) found.top.push_back({TokenId{TopK::index(e)}, of(TopK::index(e))});
  return found;
}

}  // namespace cachalot
