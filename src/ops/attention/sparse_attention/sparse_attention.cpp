// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/sparse_attention/sparse_attention.h"

namespace cachalot {

void SparseAttentionArgs::join(std::int64_t row, View<std::int64_t, 1> to) const {
  const auto end = [](View<const std::int32_t, 1> list) {
    std::int64_t n = list.extent(0);
    while (n > 0 && list[n - 1] < 0) --n;
    return n;
  };
  std::int64_t n = 0;
  for (const std::int64_t last = end(window[row]); n < last; ++n) to[n] = window[row][n];
  for (std::int64_t i = 0, last = end(group[row]); i < last; ++i, ++n) {
    const std::int64_t g = group[row][i];
    to[n] = g < 0 ? -1 : own.rows + ring.rows + groups.row_of(sequence[row], g);
  }
  for (; n < to.extent(0); ++n) to[n] = -1;
}

}  // namespace cachalot
