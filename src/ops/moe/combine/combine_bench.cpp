// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const CombineArgs& a) { return work_of_all(a, a.routed.size()); }

}  // namespace

void combine_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t top_k = bench.size(6, 3);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::combine, fmt::format("top {}, dim {}", top_k, dim), rows, work, [&](Memory& m) {
      const auto expert = m.all<std::int32_t, 2>({rows, top_k}, 0);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t k = 0; k < top_k; ++k) expert[r][k] = static_cast<std::int32_t>(64 * k + m.below(64));
      }
      return CombineArgs{.routed = m.bf16s<3>({rows, top_k, dim}),
                         .expert = expert,
                         .shared = m.bf16s<2>({rows, dim}),
                         .out = m.bf16_out<2>({rows, dim})};
    });
  }
}

}  // namespace cachalot
