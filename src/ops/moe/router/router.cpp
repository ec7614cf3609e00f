// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace cachalot {

void choose_experts(const RouterArgs& a, std::int64_t row, std::span<const float> score) {
  const View<const float, 1> bias = a.image[row] != 0 ? a.bias_vl : a.bias;
  check(!bias.empty(), "router: an image row needs bias_vl");
  const auto at = [&](std::int64_t e) { return score[static_cast<std::size_t>(e)]; };
  const auto key = [&](std::int64_t e) {
    const float k = at(e) + bias[e];
    return std::isnan(k) ? -std::numeric_limits<float>::infinity() : k;
  };
  const View<std::int32_t, 1> best = a.expert[row];
  const std::int64_t top_k = best.extent(0);
  for (std::int64_t e = 0; e < a.gate.out; ++e) {
    // Where e stands among the best so far: behind all that are not worse, so that the lower expert wins a tie.
    std::int64_t place = std::min(e, top_k);
    while (place > 0 && key(e) > key(best[place - 1])) --place;
    if (place == top_k) continue;
    for (std::int64_t k = std::min(e, top_k - 1); k > place; --k) best[k] = best[k - 1];
    best[place] = static_cast<std::int32_t>(e);
  }
  double chosen = 0;
  for (const std::int32_t e : best.span()) chosen += at(e);
  for (std::int64_t k = 0; k < top_k; ++k) {
    const float s = at(best[k]);
    a.weight[row][k] = static_cast<float>((top_k > 1 ? s / (chosen + 1e-20) : s) * a.route_scale);
  }
}

}  // namespace cachalot
