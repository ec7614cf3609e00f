// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/confidence_head/confidence_head.h"

#include "base/check.h"

namespace cachalot {

void confidence_head_ref(Context&, const ConfidenceHeadArgs& a) {
  const std::int64_t dim = a.x.extent(1), rank = a.embedding.extent(1);
  check(a.proj.out == 1 && a.proj.in == dim + rank, "confidence_head: proj is [1, dim + rank]");
  for (std::int64_t r = 0; r < a.x.extent(0); ++r) {
    double sum = 0;
    for (std::int64_t d = 0; d < dim; ++d) sum += static_cast<double>(a.x[r].load(d)) * a.proj.value(0, d);
    for (std::int64_t i = 0; i < rank; ++i) {
      sum += static_cast<double>(a.embedding[r].load(i)) * a.proj.value(0, dim + i);
    }
    a.confidence[r] = static_cast<float>(sum);
  }
}

}  // namespace cachalot
