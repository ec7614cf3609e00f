// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/candidates/candidates.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const CandidatesArgs& a) {
  Work w{.read = bytes(a.visible), .written = bytes(a.block)};
  for (const std::int64_t v : a.visible.span()) w.read += 4 * v;
  return w;
}

}  // namespace

void candidates_bench(Bench& bench) {
  const std::int64_t blocks = bench.size(2048, 3);
  const std::int64_t block_size = 8;
  for (const std::int64_t rows : bench.rows()) {
    const std::int64_t groups = bench.size(rows == 1 ? 1 << 20 : 1 << 16, 100);
    bench.measure(&Backend::candidates, fmt::format("{} x {} of {}", blocks, block_size, groups), rows, work,
                  [&](Memory& m) {
                    return CandidatesArgs{.score = m.floats<2>({rows, groups}),
                                          .visible = m.all<std::int64_t, 1>({rows}, groups),
                                          .block_size = block_size,
                                          .block = m.whole_out<2>({rows, blocks})};
                  });
  }
}

}  // namespace cachalot
