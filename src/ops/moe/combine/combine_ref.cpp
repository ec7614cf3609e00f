// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace cachalot {

void combine_ref(Context&, const CombineArgs& a) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.routed.extent(1)));
  for (std::int64_t r = 0; r < a.routed.extent(0); ++r) {
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int64_t>(k);
    const auto expert = [&](std::int64_t k) { return a.expert[r][k]; };
    std::ranges::sort(order, {}, expert);
    check(std::ranges::adjacent_find(order, {}, expert) == order.end(), "combine: a row's experts are all different");
    for (std::int64_t d = 0; d < a.out.extent(1); ++d) {
      double sum = 0;
      for (std::int64_t k : order) sum += a.routed[r][k].load(d);
      a.out[r].store(d, sum + a.shared[r].load(d));
    }
  }
}

}  // namespace cachalot
