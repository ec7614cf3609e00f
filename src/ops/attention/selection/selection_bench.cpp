// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/selection/selection.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// With candidate blocks only their groups are looked at.
Work work(const SelectionArgs& a) {
  Work w{.read = bytes(a.visible) + bytes(a.block), .written = bytes(a.group)};
  const std::int64_t allowed = a.block.extent(1) * a.block_size;
  for (const std::int64_t v : a.visible.span()) w.read += 4 * (allowed > 0 ? std::min(allowed, v) : v);
  return w;
}

void measure_selection(Bench& bench, std::int64_t rows, std::int64_t groups, std::int64_t blocks) {
  const std::int64_t top_k = bench.size(512, 5);
  const std::int64_t block_size = 8;
  const std::string among = blocks > 0 ? fmt::format(" in {} blocks of {}", blocks, block_size) : "";
  bench.measure(&Backend::selection, fmt::format("{} of {}{}", top_k, groups, among), rows, work, [&](Memory& m) {
    const auto block = m.all<std::int32_t, 2>({rows, blocks}, 0);
    const std::int64_t step = blocks > 0 ? groups / block_size / blocks : 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t b = 0; b < blocks; ++b) block[r][b] = static_cast<std::int32_t>(b * step + m.below(step));
    }
    return SelectionArgs{.score = m.floats<2>({rows, groups}),
                         .visible = m.all<std::int64_t, 1>({rows}, groups),
                         .block = block,
                         .block_size = block_size,
                         .group = m.whole_out<2>({rows, top_k})};
  });
}

}  // namespace

void selection_bench(Bench& bench) {
  for (const std::int64_t rows : bench.rows()) {
    const std::int64_t groups = bench.size(rows == 1 ? 1 << 20 : 1 << 16, 96);
    measure_selection(bench, rows, groups, 0);
    measure_selection(bench, rows, groups, bench.size(2048, 3));
  }
}

}  // namespace cachalot
