// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"
#include "ops/dspark/markov_head/markov_head.h"

namespace cachalot {

void markov_head_cpu(Context& context, const MarkovHeadArgs& a) {
  check(a.embedding.extent(1) == a.head.in && a.logits.extent(1) == a.head.out, "markov_head: head is [vocab, rank]");
  const Arena::Frame frame(context.scratch);
  const auto x = load_rows(context.pool, context.scratch, a.embedding);
  const auto sum = context.scratch.take<float, 2>(a.logits.shape());
  matmul(context.pool, context.scratch,
         {row_pointers(context.scratch, View<const float, 2>(x)), a.head, row_pointers(context.scratch, sum)});
  for (std::int64_t r = 0; r < a.logits.extent(0); ++r) {
    float* logits = a.logits[r].data();
    const float* add = sum[r].data();
    context.pool.parallel(a.head.out, 1 << 14, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t v = begin; v < end; ++v) logits[v] += add[v];
    });
  }
}

}  // namespace cachalot
