// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/markov_head/markov_head.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const MarkovHeadArgs& a) { return work_of_all(a, a.logits.size() * (2 * a.head.in + 1)); }

}  // namespace

void markov_head_bench(Bench& bench) {
  const std::int64_t rank = bench.size(256, 40);
  const std::int64_t vocab = bench.size(129280, 50);
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::markov_head, fmt::format("head bf16 {} -> {}", rank, vocab), rows, work, [&](Memory& m) {
      return MarkovHeadArgs{.embedding = m.bf16s<2>({rows, rank}),
                            .head = m.weight(WeightFormat::bf16, vocab, rank),
                            .logits = m.float_in_place<2>({rows, vocab})};
    });
  }
}

}  // namespace cachalot
