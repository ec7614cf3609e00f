// SPDX-License-Identifier: Apache-2.0
#include "ops/encode/encode_rows.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A value is compared for its group's largest, and scaled.
Work work(const EncodeRowsArgs& a) {
  return {.read = bytes(a.x) + bytes(a.row),
          .written = a.x.extent(0) * row_bytes(a.out.format, a.x.extent(1)),
          .flops = 2 * a.x.size()};
}

struct RowShape {
  const char* what;
  RowFormat format;
  std::int64_t width, rows_each;
};
constexpr RowShape released_rows[] = {{"window KV", RowFormat::e4m3_e8m0_32, 512, 1},
                                      {"compressed KV", RowFormat::e2m1_e4m3_16, 512, 1},
                                      {"index queries", RowFormat::e2m1_e8m0_32, 128, 32}};

}  // namespace

void encode_rows_bench(Bench& bench) {
  for (const RowShape& s : released_rows) {
    const std::int64_t width = bench.size(s.width, 64);
    for (const std::int64_t rows : bench.rows()) {
      const std::int64_t count = rows * s.rows_each;
      bench.measure(&Backend::encode_rows, fmt::format("{} {} x {} {}", s.what, s.rows_each, width, name(s.format)),
                    rows, work, [&](Memory& m) {
                      return EncodeRowsArgs{
                          .x = m.bf16s<2>({count, width}), .out = m.packed_out(s.format, width, count), .row = {}};
                    });
    }
  }
}

}  // namespace cachalot
