// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/check.h"
#include "ops/rows/commit_rows/commit_rows.h"

namespace cachalot {

void commit_rows_cpu(Context& context, const CommitRowsArgs& a) {
  check(a.fits(), "commit_rows: rows fit into their places");
  const auto bytes = static_cast<std::size_t>(row_bytes(a.from.format, a.from.width));
  const std::int64_t moved = a.row.extent(0);
  context.pool.parallel(a.sets * moved, 64, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t set = n / moved, i = n % moved;
      std::memcpy(a.to[a.place[i]].codes + set * a.to_step, a.from[a.row[i]].codes + set * a.from_step, bytes);
    }
  });
}

}  // namespace cachalot
