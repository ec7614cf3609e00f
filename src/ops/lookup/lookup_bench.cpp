// SPDX-License-Identifier: Apache-2.0
#include "ops/lookup/lookup.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const LookupArgs& a) {
  return {.read = bytes(a.id) + a.id.size() * row_bytes(a.table.format, a.table.width), .written = bytes(a.out)};
}

void measure(Bench& bench, const char* what, RowFormat format, std::int64_t width, std::int64_t columns,
             std::int64_t table_rows) {
  Memory shared;
  const PackedRows table = shared.packed(format, width, table_rows);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::lookup, fmt::format("{} {} x {} of {} rows", what, columns, width, table_rows), rows, work,
                  [&](Memory& m) {
                    const auto id = m.all<std::int64_t, 2>({rows, columns}, 0);
                    for (std::int64_t r = 0; r < rows; ++r) {
                      for (std::int64_t& i : id[r].span()) i = m.below(table_rows);
                    }
                    return LookupArgs{.table = table, .id = id, .out = m.bf16_out<2>({rows, columns * width})};
                  });
  }
}

}  // namespace

// The released Engram tables are far larger, but a row found in no cache costs the same. The token table is an eighth.
void lookup_bench(Bench& bench) {
  const std::int64_t part = bench.size(1, 2000);
  measure(bench, "engram e4m3", RowFormat::e4m3_e8m0_32, bench.size(256, 64), bench.size(24, 3), 600000 / part);
  measure(bench, "embed bf16", RowFormat::bf16, bench.size(5120, 64), 1, bench.size(16160, 50));
}

}  // namespace cachalot
