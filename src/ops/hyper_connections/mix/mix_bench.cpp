// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// The products, and the squares of the norm.
Work work(const MixArgs& a) { return work_of_all(a, 2 * a.h.size() * (a.fn.out + 1)); }

}  // namespace

void mix_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t hc = 4;
  const std::int64_t mixes = (2 + hc) * hc;
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::mix, fmt::format("fn f32 {} x {} -> {}", hc, dim, mixes), rows, work, [&](Memory& m) {
      return MixArgs{.h = m.bf16s<3>({rows, hc, dim}),
                     .fn = m.weight(WeightFormat::f32, mixes, hc * dim),
                     .eps = 1e-6f,
                     .mixes = m.float_out<2>({rows, mixes})};
    });
  }
}

}  // namespace cachalot
