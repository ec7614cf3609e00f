// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/sparse_attention/sparse_attention.h"

#include <fmt/core.h>

#include <cmath>
#include <set>
#include <vector>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A listed slot costs two dots a head; its row is read once, however many rows list it.
Work work(const SparseAttentionArgs& a) {
  Work w{.read = bytes(a.q) + bytes(a.sequence) + bytes(a.window) + bytes(a.group) + bytes(a.sink),
         .written = bytes(a.out)};
  std::set<std::int64_t> read;
  std::vector<std::int64_t> list(static_cast<std::size_t>(a.listed()));
  for (std::int64_t r = 0; r < a.window.extent(0); ++r) {
    a.join(r, View<std::int64_t, 1>(list.data(), {a.listed()}));
    for (const std::int64_t entry : list) {
      if (entry < 0) continue;
      w.flops += 4 * a.q.extent(1) * a.q.extent(2);
      if (read.insert(entry).second) w.read += row_bytes(a.source(entry).rows.format, a.q.extent(2));
    }
  }
  return w;
}

void measure_attention(Bench& bench, std::int64_t window, std::int64_t groups, std::int64_t top_k) {
  const std::int64_t heads = bench.size(64, 2);
  const std::int64_t dim = bench.size(512, 64);
  for (const std::int64_t rows : bench.rows()) {
    Memory shared;
    const PackedRows own = shared.packed(RowFormat::e4m3_e8m0_32, dim, rows, RowLayout::records);
    const PackedRows ring = shared.packed(RowFormat::e4m3_e8m0_32, dim, window + 16, RowLayout::records);
    const PagedRows compressed = shared.paged(RowFormat::e2m1_e4m3_16, RowLayout::records, dim, groups, 256);
    bench.measure(&Backend::sparse_attention,
                  fmt::format("{} heads of {}, {} + {} of {} slots", heads, dim, window, top_k, groups), rows, work,
                  [&](Memory& m) {
                    const auto slot = m.all<std::int32_t, 2>({rows, window}, -1);
                    const auto group = m.all<std::int32_t, 2>({rows, top_k}, -1);
                    for (std::int64_t r = 0; r < rows; ++r) {
                      for (std::int64_t i = 0; i < window; ++i) slot[r][i] = static_cast<std::int32_t>(rows + i);
                      for (std::int64_t i = 0; i < top_k; ++i) {  // ascending, as the engine lists them
                        group[r][i] = static_cast<std::int32_t>(i * (groups / top_k) + m.below(groups / top_k));
                      }
                    }
                    return SparseAttentionArgs{.q = m.bf16s<3>({rows, heads, dim}),
                                               .own = own,
                                               .ring = ring,
                                               .window = slot,
                                               .groups = compressed,
                                               .group = group,
                                               .sequence = m.all<std::int32_t, 1>({rows}, 0),
                                               .sink = m.floats<1>({heads}),
                                               .scale = 1 / std::sqrt(static_cast<float>(dim)),
                                               .round_probabilities = true,
                                               .out = m.bf16_out<3>({rows, heads, dim})};
                  });
  }
}

}  // namespace

void sparse_attention_bench(Bench& bench) {
  measure_attention(bench, bench.size(128, 8), bench.size(131072, 300), bench.size(512, 20));
}

}  // namespace cachalot
