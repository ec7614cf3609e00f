// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rms_norm.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const RmsNormArgs& a) { return work_of_all(a, 4 * a.x.size()); }

}  // namespace

void rms_norm_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::rms_norm, fmt::format("dim {}", dim), rows, work, [&](Memory& m) {
      return RmsNormArgs{
          .x = m.bf16s<2>({rows, dim}), .weight = m.bf16s<1>({dim}), .eps = 1e-20f, .out = m.bf16_out<2>({rows, dim})};
    });
  }
}

}  // namespace cachalot
