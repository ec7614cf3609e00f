// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "ops/attention/selection/selection.h"

namespace cachalot {

void selection_ref(Context&, const SelectionArgs& a) {
  for (std::int64_t row = 0; row < a.score.extent(0); ++row) {
    check(a.visible[row] >= 0 && a.visible[row] <= a.score.extent(1), "selection: a row sees groups that have a score");
    std::vector<std::int32_t> group;
    const auto listed = a.block[row].span();
    const auto blocks = listed.first(static_cast<std::size_t>(std::ranges::find(listed, -1) - listed.begin()));
    for (std::int64_t g = 0; g < a.visible[row]; ++g) {
      const bool allowed = a.block.extent(1) == 0 || std::ranges::binary_search(blocks, g / a.block_size);
      if (allowed) group.push_back(static_cast<std::int32_t>(g));
    }
    const auto value = [&](std::int32_t g) {
      const float score = a.score[row][g];
      return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
    };
    std::ranges::stable_sort(group, [&](std::int32_t x, std::int32_t y) { return value(x) > value(y); });
    group.resize(std::min(group.size(), static_cast<std::size_t>(a.group.extent(1))));
    std::ranges::sort(group);
    std::ranges::fill(a.group[row].span(), -1);
    std::ranges::copy(group, a.group[row].data());
  }
}

}  // namespace cachalot
