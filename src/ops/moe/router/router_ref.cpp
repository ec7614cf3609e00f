// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router/router.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "ops/linear/linear.h"

namespace cachalot {
namespace {

// Right for z of any size: e^-z may become inf, whose inverse is the 0 it should be; log(1 + e^z) is split so that
// neither e^z overflows nor the 1 swallows it.
double score_of(ScoringFunc scoring, double z, double top, double sum) {
  if (scoring == ScoringFunc::softmax) return std::exp(z - top) / sum;
  if (scoring == ScoringFunc::sigmoid) return 1 / (1 + std::exp(-z));
  return std::sqrt(std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))));
}

}  // namespace

void router_ref(Context& context, const RouterArgs& a) {
  const std::int64_t experts = a.gate.out, top_k = a.expert.extent(1);
  check(top_k >= 1 && top_k <= experts, "router: top_k is between 1 and the number of experts");
  check(a.bias.extent(0) == experts && (a.bias_vl.empty() || a.bias_vl.extent(0) == experts), "router: a bias each");
  const auto n = static_cast<std::size_t>(experts);
  std::vector<float> logit(n), score(n);
  for (std::int64_t r = 0; r < a.x.extent(0); ++r) {
    linear_ref(context, {a.x.part(r, 1), a.gate, View<float, 2>(logit.data(), {1, experts})});
    const double top = std::ranges::max(logit);
    double sum = 0;
    for (float z : logit) sum += std::exp(z - top);
    for (std::size_t e = 0; e < n; ++e) score[e] = static_cast<float>(score_of(a.scoring, logit[e], top, sum));
    choose_experts(a, r, score);
  }
}

}  // namespace cachalot
