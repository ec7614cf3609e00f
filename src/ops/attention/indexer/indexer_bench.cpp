// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/indexer/indexer.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A dot per head and key, its ReLU, and the weighted sum. Keys count once, however many rows look at them.
Work work(const IndexerArgs& a) {
  const std::int64_t rows = a.weight.extent(0);
  const std::int64_t heads = a.weight.extent(1);
  Work w{
      .read = bytes(a.weight) + bytes(a.sequence) + bytes(a.visible) + rows * heads * row_bytes(a.q.format, a.q.width),
      .written = bytes(a.score)};
  for (const std::int64_t n : a.keys.readable.span()) w.read += n * row_bytes(a.q.format, a.q.width);
  for (const std::int64_t v : a.visible.span()) w.flops += v * heads * (2 * a.q.width + 3);
  return w;
}

}  // namespace

void indexer_bench(Bench& bench) {
  const std::int64_t heads = bench.size(32, 2);
  const std::int64_t dim = bench.size(128, 32);
  for (const std::int64_t rows : bench.rows()) {
    const std::int64_t groups = bench.size(rows == 1 ? 131072 : 16384, 37);
    bench.measure(&Backend::indexer, fmt::format("{} heads of {}, {} keys", heads, dim, groups), rows, work,
                  [&](Memory& m) {
                    constexpr auto format = RowFormat::e2m1_e8m0_32;
                    return IndexerArgs{.q = m.packed(format, dim, rows * heads),
                                       .weight = m.bf16s<2>({rows, heads}),
                                       .weight_scale = 0.015625f,
                                       .keys = m.paged(format, RowLayout::planes, dim, groups, 256),
                                       .sequence = m.all<std::int32_t, 1>({rows}, 0),
                                       .visible = m.all<std::int64_t, 1>({rows}, groups),
                                       .score = m.float_out<2>({rows, groups})};
                  });
  }
}

}  // namespace cachalot
