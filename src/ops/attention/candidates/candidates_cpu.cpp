// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "device/cpu/top_k.h"
#include "ops/attention/candidates/candidates.h"

namespace cachalot {
namespace {

float best_of(std::span<const float> score) {
  float best = -std::numeric_limits<float>::infinity();
  for (const float s : score) best = std::max(best, s);  // a NaN is never larger
  return best;
}

}  // namespace

void candidates_cpu(Context& context, const CandidatesArgs& a) {
  const std::int64_t rows = a.score.extent(0);
  const std::int64_t size = a.block_size;
  for (std::int64_t row = 0; row < rows; ++row) {
    check(a.visible[row] >= 0 && a.visible[row] <= a.score.extent(1),
          "candidates: a row sees groups that have a score");
    std::ranges::fill(a.block[row].span(), -1);
  }
  // The last block holds the newest visible group: it is kept, and the others compete for the places before it.
  const auto others = [&](std::int64_t row) { return std::max<std::int64_t>(ceil_div(a.visible[row], size) - 1, 0); };
  const auto scan = [&](std::int64_t row, std::int64_t first, std::int64_t last, TopK& top) {
    const float* score = a.score[row].data();
    for (std::int64_t block = first; block < last; ++block) {
      block += top.skip(score + block * size, (last - block) * size) / size;  // a block no group of which counts
      if (block < last) {
        top.add(best_of({score + block * size, static_cast<std::size_t>(size)}), static_cast<std::int32_t>(block));
      }
    }
  };
  const auto take = [&](std::int64_t row, std::span<const TopK::Entry> best) {
    auto to = std::ranges::transform(best, a.block[row].data(), &TopK::index).out;
    if (a.visible[row] > 0) *to = static_cast<std::int32_t>(others(row));
  };
  if (a.block.extent(1) > 1) {
    top_k_rows(context.pool, context.scratch, rows, a.block.extent(1) - 1, others, scan, take);
  } else if (a.block.extent(1) == 1) {
    for (std::int64_t row = 0; row < rows; ++row) take(row, {});
  }
}

}  // namespace cachalot
