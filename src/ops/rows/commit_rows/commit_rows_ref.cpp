// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "ops/rows/commit_rows/commit_rows.h"

namespace cachalot {

void commit_rows_ref(Context&, const CommitRowsArgs& a) {
  check(a.fits(), "commit_rows: rows fit into their places");
  for (std::int64_t set = 0; set < a.sets; ++set) {
    for (std::int64_t i = 0; i < a.row.extent(0); ++i) {
      std::copy_n(a.from[a.row[i]].codes + set * a.from_step, row_bytes(a.from.format, a.from.width),
                  a.to[a.place[i]].codes + set * a.to_step);
    }
  }
}

}  // namespace cachalot
