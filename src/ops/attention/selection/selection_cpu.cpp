// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "device/cpu/top_k.h"
#include "ops/attention/selection/selection.h"

namespace cachalot {

void selection_cpu(Context& context, const SelectionArgs& a) {
  const std::int64_t rows = a.score.extent(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    check(a.visible[row] >= 0 && a.visible[row] <= a.score.extent(1), "selection: a row sees groups that have a score");
  }
  if (a.group.extent(1) == 0) return;
  const bool everywhere = a.block.extent(1) == 0;
  // A row is a stretch of groups, or the groups of the blocks listed for it.
  const auto length = [&](std::int64_t row) {
    if (everywhere) return a.visible[row];
    const auto listed = a.block[row].span();
    return static_cast<std::int64_t>(std::ranges::find(listed, -1) - listed.begin());
  };
  const auto scan = [&](std::int64_t row, std::int64_t first, std::int64_t last, TopK& top) {
    const float* score = a.score[row].data();
    if (everywhere) return top.add_all(score + first, last - first, first);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t begin = a.block[row][i] * a.block_size;
      const std::int64_t end = std::min(begin + a.block_size, a.visible[row]);
      if (begin < end) top.add_all(score + begin, end - begin, begin);
    }
  };
  const auto take = [&](std::int64_t row, std::span<const TopK::Entry> best) {
    std::ranges::fill(a.group[row].span(), -1);
    std::ranges::transform(best, a.group[row].data(), &TopK::index);
  };
  top_k_rows(context.pool, context.scratch, rows, a.group.extent(1), length, scan, take);
}

}  // namespace cachalot
