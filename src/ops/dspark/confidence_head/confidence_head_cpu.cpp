// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"
#include "ops/dspark/confidence_head/confidence_head.h"

namespace cachalot {

void confidence_head_cpu(Context& context, const ConfidenceHeadArgs& a) {
  const std::int64_t rows = a.x.extent(0), dim = a.x.extent(1), rank = a.embedding.extent(1);
  check(a.proj.out == 1 && a.proj.in == dim + rank, "confidence_head: proj is [1, dim + rank]");
  const Arena::Frame frame(context.scratch);
  const auto x = load_rows(context.pool, context.scratch, a.x);
  const auto embedding = load_rows(context.pool, context.scratch, a.embedding);
  const auto both = context.scratch.take<float, 2>({rows, padded_width(dim + rank)});
  for (std::int64_t r = 0; r < rows; ++r) {
    float* to = std::copy_n(x[r].data(), dim, both[r].data());
    to = std::copy_n(embedding[r].data(), rank, to);
    std::fill(to, both[r].data() + both.extent(1), 0.0f);
  }
  const View<float, 2> out(a.confidence.data(), {rows, 1});
  matmul(context.pool, context.scratch,
         {row_pointers(context.scratch, View<const float, 2>(both)), a.proj, row_pointers(context.scratch, out)});
}

}  // namespace cachalot
