// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/gate/gate.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A number of a copy: two squares and the three-factor product with their sums, then gate · value added. The product
// of the two weights is the same for all rows.
Work work(const EngramGateArgs& a) { return work_of_all(a, 9 * a.h.size() + a.q_weight.size()); }

}  // namespace

void engram_gate_bench(Bench& bench) {
  const std::int64_t dim = bench.size(5120, 40);
  const std::int64_t hc = 4;
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::engram_gate, fmt::format("{} x {}", hc, dim), rows, work, [&](Memory& m) {
      return EngramGateArgs{.h = m.bf16s<3>({rows, hc, dim}),
                            .kv = m.bf16s<2>({rows, (hc + 1) * dim}),
                            .q_weight = m.bf16s<2>({hc, dim}),
                            .k_weight = m.bf16s<2>({hc, dim}),
                            .eps = 1e-6f,
                            .image = m.all<std::uint8_t, 1>({rows}, 0),
                            .gate = m.float_out<2>({rows, hc}),
                            .out = m.bf16_out<3>({rows, hc, dim})};
    });
  }
}

}  // namespace cachalot
