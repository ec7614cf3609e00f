// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"
#include "ops/moe/router/router.h"

namespace cachalot {
namespace {

// Logits to scores, in place. In double: a row has few of them, and a tie must not depend on a polynomial.
void score_all(ScoringFunc scoring, std::span<float> row) {
  switch (scoring) {
    case ScoringFunc::softmax: {
      const double top = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (const float z : row) sum += std::exp(z - top);
      for (float& z : row) z = static_cast<float>(std::exp(z - top) / sum);
      return;
    }
    case ScoringFunc::sigmoid:
      for (float& z : row) z = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(z))));
      return;
    case ScoringFunc::sqrtsoftplus:  // log(1 + e^z), split so that e^z can't overflow and 1 can't swallow it
      for (float& z : row) {
        const double v = z;
        z = static_cast<float>(std::sqrt(std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v)))));
      }
      return;
  }
}

}  // namespace

void router_cpu(Context& context, const RouterArgs& a) {
  const std::int64_t rows = a.x.extent(0), experts = a.gate.out, top_k = a.expert.extent(1);
  check(top_k >= 1 && top_k <= experts, "router: top_k is between 1 and the number of experts");
  check(a.bias.extent(0) == experts && (a.bias_vl.empty() || a.bias_vl.extent(0) == experts), "router: a bias each");
  check(a.x.extent(1) == a.gate.in, "router: gate is [experts, dim]");
  const Arena::Frame frame(context.scratch);
  const auto x = load_rows(context.pool, context.scratch, a.x);
  const auto score = context.scratch.take<float, 2>({rows, experts});
  matmul(context.pool, context.scratch,
         {row_pointers(context.scratch, View<const float, 2>(x)), a.gate, row_pointers(context.scratch, score)});
  context.pool.parallel(rows, 2, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      score_all(a.scoring, score[r].span());
      choose_experts(a, r, score[r].span());
    }
  });
}

}  // namespace cachalot
