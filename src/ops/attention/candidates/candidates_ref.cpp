// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "ops/attention/candidates/candidates.h"

namespace cachalot {

void candidates_ref(Context&, const CandidatesArgs& a) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::int64_t row = 0; row < a.score.extent(0); ++row) {
    const std::int64_t visible = a.visible[row];
    check(visible >= 0 && visible <= a.score.extent(1), "candidates: a row sees groups that have a score");
    const std::int64_t blocks = ceil_div(visible, a.block_size);
    std::vector<float> best(static_cast<std::size_t>(blocks), -infinity);
    for (std::int64_t g = 0; g < visible; ++g) {
      float& b = best[static_cast<std::size_t>(g / a.block_size)];
      b = std::max(b, a.score[row][g]);  // a NaN is never larger
    }
    std::vector<std::int32_t> order(best.size());
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](std::int32_t b) { return best[static_cast<std::size_t>(b)]; };
    const auto pinned = static_cast<std::int32_t>(blocks - 1);  // holds the newest visible group
    std::ranges::stable_sort(order, [&](std::int32_t x, std::int32_t y) {
      return (x == pinned) != (y == pinned) ? x == pinned : value(x) > value(y);
    });
    const auto kept = std::min<std::int64_t>(blocks, a.block.extent(1));
    std::sort(order.begin(), order.begin() + kept);
    std::ranges::fill(a.block[row].span(), -1);
    std::copy_n(order.begin(), kept, a.block[row].data());
  }
}

}  // namespace cachalot
