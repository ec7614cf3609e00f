// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// Each number of a copy is a sum over the copies and y.
Work work(const UnfoldArgs& a) { return work_of_all(a, 2 * a.h.size() * (a.h.extent(1) + 1)); }

}  // namespace

void unfold_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t hc = 4;
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::unfold, fmt::format("{} x {}", hc, dim), rows, work, [&](Memory& m) {
      return UnfoldArgs{.y = m.bf16s<2>({rows, dim}),
                        .h = m.bf16s<3>({rows, hc, dim}),
                        .post = m.floats<2>({rows, hc}),
                        .comb = m.floats<3>({rows, hc, hc}),
                        .out = m.bf16_out<3>({rows, hc, dim})};
    });
  }
}

}  // namespace cachalot
