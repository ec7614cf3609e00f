// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"
#include "ops/attention/indexer/indexer.h"
#include "ops/scalar_math.h"

namespace cachalot {

void indexer_ref(Context&, const IndexerArgs& a) {
  const std::int64_t heads = a.weight.extent(1);
  const auto width = static_cast<std::size_t>(a.q.width);
  check(a.q.rows == a.score.extent(0) * heads, "indexer: one query for each row and head");
  for (std::int64_t row = 0; row < a.score.extent(0); ++row) {
    const std::int64_t sequence = a.sequence[row];
    check(a.visible[row] <= a.score.extent(1), "indexer: a place for the score of every visible group");
    std::vector<std::vector<float>> q(static_cast<std::size_t>(heads), std::vector<float>(width));
    for (std::int64_t h = 0; h < heads; ++h) a.q.decode(row * heads + h, q[static_cast<std::size_t>(h)]);
    for (std::int64_t group = 0; group < a.score.extent(1); ++group) {
      std::vector<float> key(width);  // zeros where there is no key
      if (group < std::min(a.keys.readable[sequence], a.visible[row])) {
        a.keys.pool.decode(a.keys.row_of(sequence, group), key);
      }
      float score = 0;
      for (std::int64_t h = 0; h < heads; ++h) {
        const float d = dot(q[static_cast<std::size_t>(h)], key);
        const float weight = a.weight[row].load(h) * a.weight_scale;
        score += weight * (d < 0 ? 0 : d);  // not max(0, d): NaN stays NaN
      }
      const bool seen = group < a.visible[row];
      a.score[row][group] = seen ? score : -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace cachalot
