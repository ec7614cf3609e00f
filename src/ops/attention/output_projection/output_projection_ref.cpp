// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/check.h"
#include "ops/attention/output_projection/output_projection.h"

namespace cachalot {

void output_projection_ref(Context&, const OutputProjectionArgs& a) {
  const Weight& w = a.weight;
  const std::int64_t o_lora = w.out / a.groups;
  check(o_lora * a.groups == w.out && a.x.extent(1) == a.groups * w.in && a.out.extent(1) == w.out,
        "output_projection: shapes fit");
  std::vector<float> weight(static_cast<std::size_t>(w.in));
  for (std::int64_t o = 0; o < w.out; ++o) {
    const std::int64_t first = o / o_lora * w.in;  // where the group's heads begin
    w.values(o, weight);
    for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < w.in; ++i) {
        sum += static_cast<double>(a.x[row].load(first + i)) * weight[static_cast<std::size_t>(i)];
      }
      a.out[row].store(o, sum);
    }
  }
}

}  // namespace cachalot
