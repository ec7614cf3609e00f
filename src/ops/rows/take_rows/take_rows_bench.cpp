// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/take_rows/take_rows.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const TakeRowsArgs& a) { return {.read = bytes(a.row) + bytes(a.out), .written = bytes(a.out), .flops = 0}; }

}  // namespace

void take_rows_bench(Bench& bench) {
  const std::int64_t dim = bench.size(4096, 40), copies = 4;
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::take_rows, fmt::format("{} copies of {}", copies, dim), rows, work, [&](Memory& m) {
      const auto row = m.all<std::int32_t, 1>({rows * copies}, 0);
      for (std::int64_t i = 0; i < row.extent(0); ++i) row[i] = static_cast<std::int32_t>(i / copies);
      return TakeRowsArgs{.from = bytes_of_rows(ConstValues<2>(m.bf16s<2>({rows, dim}))),
                          .row = row,
                          .out = bytes_of_rows(m.bf16_out<2>({rows * copies, dim}))};
    });
  }
}

}  // namespace cachalot
