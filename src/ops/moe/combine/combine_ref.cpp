// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include <vector>

namespace cachalot {

void combine_ref(Context&, const CombineArgs& a) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.routed.extent(1)));
  for (std::int64_t r = 0; r < a.routed.extent(0); ++r) {
    order_of_sum(a.expert[r], order);
    for (std::int64_t d = 0; d < a.out.extent(1); ++d) {
      float sum = 0;
      for (std::int64_t k : order) sum += a.routed[r][k].load(d);
      a.out[r].store(d, sum + a.shared[r].load(d));
    }
  }
}

}  // namespace cachalot
