// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/commit_rows/commit_rows.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

std::int64_t moved_bytes(const CommitRowsArgs& a) {
  return a.sets * a.row.extent(0) * row_bytes(a.from.format, a.from.width);
}
Work work(const CommitRowsArgs& a) {
  return {.read = bytes(a.row) + bytes(a.place) + moved_bytes(a), .written = moved_bytes(a), .flops = 0};
}

}  // namespace

void commit_rows_bench(Bench& bench) {
  const std::int64_t layers = bench.size(43, 2), width = bench.size(512, 64), slots = bench.size(144, 20);
  constexpr auto format = RowFormat::e4m3_e8m0_32;
  for (const std::int64_t rows : bench.rows()) {
    const std::int64_t moved = std::min(rows, slots);
    bench.measure(&Backend::commit_rows, fmt::format("{} layers, rows of {}", layers, width), rows, work,
                  [&](Memory& m) {
                    const auto row = m.all<std::int32_t, 1>({moved}, 0), place = m.all<std::int32_t, 1>({moved}, 0);
                    for (std::int64_t i = 0; i < moved; ++i) row[i] = place[i] = static_cast<std::int32_t>(i);
                    // Places are read as one ring behind the other: all that is moved is written.
                    const PackedRowsOut to = m.records_out(format, width, layers * moved);
                    return CommitRowsArgs{.from = m.packed(format, width, layers * rows, RowLayout::records),
                                          .to = to,
                                          .row = row,
                                          .place = place,
                                          .sets = layers,
                                          .from_step = rows * row_bytes(format, width),
                                          .to_step = moved * row_bytes(format, width)};
                  });
  }
}

}  // namespace cachalot
