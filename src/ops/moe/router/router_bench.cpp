// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router/router.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const RouterArgs& a) { return work_of_all(a, 2 * a.x.extent(0) * a.gate.in * a.gate.out); }

}  // namespace

void router_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t experts = bench.size(384, 10);
  const std::int64_t top_k = bench.size(6, 3);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::router, fmt::format("gate bf16 {} -> {}, top {}", dim, experts, top_k), rows, work,
                  [&](Memory& m) {
                    return RouterArgs{.x = m.bf16s<2>({rows, dim}),
                                      .gate = m.weight(WeightFormat::bf16, experts, dim),
                                      .bias = m.floats<1>({experts}),
                                      .bias_vl = {},
                                      .image = m.all<std::uint8_t, 1>({rows}, 0),
                                      .scoring = ScoringFunc::sqrtsoftplus,
                                      .route_scale = 1.5f,
                                      .expert = m.whole_out<2>({rows, top_k}),
                                      .weight = m.float_out<2>({rows, top_k})};
                  });
  }
}

}  // namespace cachalot
