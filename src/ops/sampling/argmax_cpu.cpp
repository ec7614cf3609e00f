// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/ids.h"
#include "device/cpu/top_k.h"
#include "ops/sampling/argmax.h"

namespace cachalot {
namespace {

// -1 where all is NaN.
std::int64_t argmax_of(std::span<const float> x) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  const auto n = static_cast<std::int64_t>(x.size());
  std::int64_t best = -1;
  for (std::int64_t i = first_above(x.data(), n, lowest); i < n;) {
    best = i;
    ++i;
    i += first_above(x.data() + i, n - i, x[static_cast<std::size_t>(best)]);
  }
  if (best >= 0) return best;
  const auto at = std::ranges::find(x, lowest);
  return at == x.end() ? -1 : at - x.begin();
}

}  // namespace

void argmax_cpu(Context& context, const ArgmaxArgs& a) {
  constexpr std::int64_t piece = 16384;
  const std::int64_t n = a.x.extent(1);
  check(n > 0 && a.index.extent(0) == a.x.extent(0), "argmax: shapes fit");
  const Arena::Frame frame(context.scratch);
  const std::int64_t pieces = ceil_div(n, piece);
  const auto found = context.scratch.take<std::int64_t, 2>({a.x.extent(0), pieces});
  context.pool.parallel(found.size(), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / pieces;
      const std::int64_t first = i % pieces * piece;
      const std::int64_t at =
          argmax_of({a.x[row].data() + first, static_cast<std::size_t>(std::min(piece, n - first))});
      found[row][i % pieces] = at < 0 ? -1 : first + at;
    }
  });
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    std::int64_t best = -1;
    for (const std::int64_t at : found[row].span()) {
      if (at >= 0 && (best < 0 || a.x[row][at] > a.x[row][best])) best = at;
    }
    a.index[row] = best < 0 ? 0 : static_cast<std::int32_t>(best);
  }
}

}  // namespace cachalot
