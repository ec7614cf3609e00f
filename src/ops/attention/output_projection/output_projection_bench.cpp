// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/output_projection/output_projection.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const OutputProjectionArgs& a) { return work_of_all(a, 2 * a.x.extent(0) * a.weight.in * a.weight.out); }

}  // namespace

void output_projection_bench(Bench& bench) {
  const std::int64_t groups = bench.size(8, 2);
  const std::int64_t in = bench.size(4096, 64);
  const std::int64_t o_lora = bench.size(1024, 32);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::output_projection, fmt::format("wo_a e4m3 {} x ({} -> {})", groups, in, o_lora), rows, work,
                  [&](Memory& m) {
                    return OutputProjectionArgs{.x = m.bf16s<2>({rows, groups * in}),
                                                .weight = m.weight(WeightFormat::e4m3_block32, groups * o_lora, in),
                                                .groups = groups,
                                                .out = m.bf16_out<2>({rows, groups * o_lora})};
                  });
  }
}

}  // namespace cachalot
