// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling/argmax.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const ArgmaxArgs& a) { return work_of_all(a, 0); }

}  // namespace

void argmax_bench(Bench& bench) {
  const std::int64_t vocab = bench.size(129280, 100);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::argmax, fmt::format("vocab {}", vocab), rows, work, [&](Memory& m) {
      return ArgmaxArgs{.x = m.floats<2>({rows, vocab}), .index = m.whole_out<1>({rows})};
    });
  }
}

}  // namespace cachalot
