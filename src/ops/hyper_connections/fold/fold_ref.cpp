// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"

namespace cachalot {

void fold_ref(Context&, const FoldArgs& a) {
  for (std::int64_t r = 0; r < a.h.extent(0); ++r) {
    for (std::int64_t d = 0; d < a.h.extent(2); ++d) {
      float sum = 0;
      for (std::int64_t c = 0; c < a.h.extent(1); ++c) sum += a.mix[r][c] * a.h[r][c].load(d);
      a.out[r].store(d, sum);
    }
  }
}

}  // namespace cachalot
