// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"

#include <vector>

namespace cachalot {

void unfold_ref(Context&, const UnfoldArgs& a) {
  const std::int64_t copies = a.h.extent(1);
  std::vector<float> before(static_cast<std::size_t>(copies));  // out may be h: read all copies, then write them
  for (std::int64_t r = 0; r < a.h.extent(0); ++r) {
    for (std::int64_t d = 0; d < a.h.extent(2); ++d) {
      for (std::int64_t k = 0; k < copies; ++k) before[static_cast<std::size_t>(k)] = a.h[r][k].load(d);
      for (std::int64_t c = 0; c < copies; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < copies; ++k) sum += a.comb[r][k][c] * before[static_cast<std::size_t>(k)];
        a.out[r][c].store(d, sum + a.post[r][c] * a.y[r].load(d));
      }
    }
  }
}

}  // namespace cachalot
