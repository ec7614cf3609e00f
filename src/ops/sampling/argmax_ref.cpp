// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/check.h"
#include "ops/sampling/argmax.h"

namespace cachalot {

void argmax_ref(Context&, const ArgmaxArgs& a) {
  check(a.x.extent(1) > 0 && a.index.extent(0) == a.x.extent(0), "argmax: shapes fit");
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    const auto x = a.x[row];
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      if (std::isnan(x[i])) continue;
      if (best < 0 || x[i] > x[best]) best = i;
    }
    a.index[row] = best < 0 ? 0 : static_cast<std::int32_t>(best);
  }
}

}  // namespace cachalot
