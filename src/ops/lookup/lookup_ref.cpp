// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/check.h"
#include "ops/lookup/lookup.h"

namespace cachalot {

void lookup_ref(Context&, const LookupArgs& a) {
  const std::int64_t width = a.table.width;
  check(a.out.extent(0) == a.id.extent(0) && a.out.extent(1) == a.id.extent(1) * width, "lookup: shapes fit");
  std::vector<float> values(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < a.id.extent(0); ++row) {
    for (std::int64_t column = 0; column < a.id.extent(1); ++column) {
      a.table.decode(a.id[row][column], values);
      for (std::int64_t i = 0; i < width; ++i) {
        a.out[row].store(column * width + i, values[static_cast<std::size_t>(i)]);
      }
    }
  }
}

}  // namespace cachalot
