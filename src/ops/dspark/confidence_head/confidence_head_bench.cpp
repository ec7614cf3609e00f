// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/confidence_head/confidence_head.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const ConfidenceHeadArgs& a) { return work_of_all(a, 2 * a.x.extent(0) * a.proj.in); }

}  // namespace

void confidence_head_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t rank = bench.size(256, 16);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::confidence_head, fmt::format("proj bf16 {} + {} -> 1", dim, rank), rows, work,
                  [&](Memory& m) {
                    return ConfidenceHeadArgs{.x = m.bf16s<2>({rows, dim}),
                                              .embedding = m.bf16s<2>({rows, rank}),
                                              .proj = m.weight(WeightFormat::bf16, 1, dim + rank),
                                              .confidence = m.float_out<1>({rows})};
                  });
  }
}

}  // namespace cachalot
