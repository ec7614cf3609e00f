// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "ops/rows/take_rows/take_rows.h"

namespace cachalot {

void take_rows_ref(Context&, const TakeRowsArgs& a) {
  check(a.row.extent(0) == a.out.extent(0), "take_rows: a place for every row");
  for (std::int64_t r = 0; r < a.row.extent(0); ++r) {
    check(a.row[r] >= 0 && a.row[r] < a.from.extent(0), "take_rows: a row that exists");
    std::ranges::copy(a.from[a.row[r]].span().first(static_cast<std::size_t>(a.out.extent(1))),
                      a.out[r].span().begin());
  }
}

}  // namespace cachalot
