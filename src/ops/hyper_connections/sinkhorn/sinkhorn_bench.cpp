// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// Scale and base of each number, its exponential; then each iteration sums and divides rows and columns.
Work work(const SinkhornArgs& a) { return work_of_all(a, 3 * a.mixes.size() + 4 * a.iterations * a.comb.size()); }

}  // namespace

void sinkhorn_bench(Bench& bench) {
  const std::int64_t hc = 4;
  const std::int64_t mixes = (2 + hc) * hc;
  const int iterations = static_cast<int>(bench.size(20, 2));
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::sinkhorn, fmt::format("{} copies, {} iterations", hc, iterations), rows, work,
                  [&](Memory& m) {
                    return SinkhornArgs{.mixes = m.floats<2>({rows, mixes}),
                                        .base = m.floats<1>({mixes}),
                                        .scale = m.floats<1>({3}),
                                        .iterations = iterations,
                                        .eps = 1e-6f,
                                        .pre = m.float_out<2>({rows, hc}),
                                        .post = m.float_out<2>({rows, hc}),
                                        .comb = m.float_out<3>({rows, hc, hc})};
                  });
  }
}

}  // namespace cachalot
