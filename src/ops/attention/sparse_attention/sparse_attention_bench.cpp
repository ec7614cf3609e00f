// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/sparse_attention/sparse_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A listed slot costs two dots a head; its row is read once, however many rows of one sequence list it.
Work work(const SparseAttentionArgs& a) {
  Work w{.read = bytes(a.q) + bytes(a.sequence) + bytes(a.slot) + bytes(a.sink), .written = bytes(a.out)};
  std::set<std::pair<std::int32_t, std::int32_t>> read;
  for (std::int64_t r = 0; r < a.slot.extent(0); ++r) {
    for (const std::int32_t s : a.slot[r].span()) {
      if (s < 0) continue;
      w.flops += 4 * a.q.extent(1) * a.q.extent(2);
      if (!read.emplace(a.sequence[r], s).second) continue;
      const AttentionSource& from = a.source[static_cast<std::size_t>(a.sequence[r])];
      const RowFormat format = s < from.first_group_slot() ? from.ring.format : from.compressed.format;
      w.read += row_bytes(format, a.q.extent(2));
    }
  }
  return w;
}

void measure(Bench& bench, std::int64_t window, std::int64_t groups, std::int64_t top_k) {
  const std::int64_t heads = bench.size(64, 2);
  const std::int64_t dim = bench.size(512, 64);
  for (const std::int64_t rows : bench.rows()) {
    Memory shared;
    const auto source = shared.list<AttentionSource>(1);
    source[0] = {.ring = shared.packed(RowFormat::e4m3_e8m0_32, dim, window + 16),
                 .own = shared.packed(RowFormat::e4m3_e8m0_32, dim, rows),
                 .compressed = shared.paged(RowFormat::e2m1_e4m3_16, dim, groups, 256)};
    const std::int64_t first_group = source[0].first_group_slot();
    bench.measure(&Backend::sparse_attention,
                  fmt::format("{} heads of {}, {} + {} of {} slots", heads, dim, window, top_k, groups), rows, work,
                  [&](Memory& m) {
                    const auto slot = m.all<std::int32_t, 2>({rows, window + top_k}, -1);
                    for (std::int64_t r = 0; r < rows; ++r) {
                      for (std::int64_t i = 0; i < window; ++i) slot[r][i] = static_cast<std::int32_t>(i);
                      for (std::int64_t i = 0; i < top_k; ++i) {  // ascending, as the engine lists them
                        const std::int64_t group = i * (groups / top_k) + m.below(groups / top_k);
                        slot[r][window + i] = static_cast<std::int32_t>(first_group + group);
                      }
                    }
                    return SparseAttentionArgs{.q = m.bf16s<3>({rows, heads, dim}),
                                               .source = source,
                                               .sequence = m.all<std::int32_t, 1>({rows}, 0),
                                               .slot = slot,
                                               .sink = m.floats<1>({heads}),
                                               .scale = 1 / std::sqrt(static_cast<float>(dim)),
                                               .round_probabilities = true,
                                               .out = m.bf16_out<3>({rows, heads, dim})};
                  });
  }
}

}  // namespace

void sparse_attention_bench(Bench& bench) {
  measure(bench, bench.size(128, 8), bench.size(131072, 300), bench.size(512, 20));
}

}  // namespace cachalot
