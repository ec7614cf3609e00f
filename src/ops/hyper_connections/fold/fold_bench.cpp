// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const FoldArgs& a) { return work_of_all(a, 2 * a.h.size()); }

}  // namespace

void fold_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t hc = 4;
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::fold, fmt::format("{} x {}", hc, dim), rows, work, [&](Memory& m) {
      return FoldArgs{
          .h = m.bf16s<3>({rows, hc, dim}), .mix = m.floats<2>({rows, hc}), .out = m.bf16_out<2>({rows, dim})};
    });
  }
}

}  // namespace cachalot
