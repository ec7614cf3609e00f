// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/expert_ffn/expert_ffn.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/linear/linear.h"

namespace cachalot {
namespace {

float silu(double x) {
  return static_cast<float>(x / (1 + std::exp(-x)));
}  // e^-x may become inf: then the result is -0, as it should be

}  // namespace

void expert_ffn_ref(Context& context, const ExpertFfnArgs& a) {
  for (std::int64_t r = 0; r < a.x.extent(0); ++r) {
    for (std::int64_t k = 0; k < a.expert.extent(1); ++k) {
      const std::int32_t e = a.expert[r][k];
      check(e >= 0 && e < static_cast<std::int64_t>(a.experts.size()), "expert_ffn: an expert that is there");
      const ExpertWeights& w = a.experts[static_cast<std::size_t>(e)];
      check(w.w1.out == w.w3.out && w.w1.out == w.w2.in, "expert_ffn: w1, w2 and w3 agree on the inner width");
      const Arena::Frame frame(context.scratch);
      const auto gate = context.scratch.take_values<2>(a.x.type(), {1, w.w1.out});
      const auto up = context.scratch.take_values<2>(a.x.type(), {1, w.w3.out});
      const auto product = context.scratch.take_values<2>(a.x.type(), {1, w.w1.out});
      linear_ref(context, {.x = a.x.part(r, 1), .weight = w.w1, .out = gate});
      linear_ref(context, {.x = a.x.part(r, 1), .weight = w.w3, .out = up});
      for (std::int64_t i = 0; i < w.w1.out; ++i) {
        float g = gate[0].load(i), u = up[0].load(i);
        if (a.limit > 0) {
          g = std::min(g, a.limit);
          u = std::clamp(u, -a.limit, a.limit);
        }
        product[0].store(i, a.weight[r][k] * (silu(g) * u));
      }
      linear_ref(context, {.x = product, .weight = w.w2, .out = a.out[r].part(k, 1)});
    }
  }
}

}  // namespace cachalot
