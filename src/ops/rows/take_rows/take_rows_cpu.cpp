// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/check.h"
#include "ops/rows/take_rows/take_rows.h"

namespace cachalot {

void take_rows_cpu(Context& context, const TakeRowsArgs& a) {
  check(a.row.extent(0) == a.out.extent(0), "take_rows: a place for every row");
  const auto bytes = static_cast<std::size_t>(a.out.extent(1));
  context.pool.parallel(a.row.extent(0), 8, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      check(a.row[r] >= 0 && a.row[r] < a.from.extent(0), "take_rows: a row that exists");
      if (bytes > 0) std::memcpy(a.out[r].data(), a.from[a.row[r]].data(), bytes);
    }
  });
}

}  // namespace cachalot
