// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/markov_head/markov_head.h"

#include "base/check.h"

namespace cachalot {

void markov_head_ref(Context&, const MarkovHeadArgs& a) {
  check(a.embedding.extent(1) == a.head.in && a.logits.extent(1) == a.head.out, "markov_head: head is [vocab, rank]");
  for (std::int64_t r = 0; r < a.embedding.extent(0); ++r) {
    for (std::int64_t v = 0; v < a.head.out; ++v) {
      double dot = 0;
      for (std::int64_t i = 0; i < a.head.in; ++i)
        dot += static_cast<double>(a.embedding[r].load(i)) * a.head.value(v, i);
      a.logits[r][v] += static_cast<float>(dot);
    }
  }
}

}  // namespace cachalot
