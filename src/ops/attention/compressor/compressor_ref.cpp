// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/attention/compressor/compressor.h"

namespace cachalot {

void compressor_ref(Context&, const CompressorArgs& a) {
  const std::int64_t ratio = a.kv.extent(1);
  check(a.score.shape() == a.kv.shape() && a.out.extent(0) == a.kv.extent(0), "compressor: shapes fit");
  for (std::int64_t group = 0; group < a.out.extent(0); ++group) {
    for (std::int64_t channel = 0; channel < a.out.extent(1); ++channel) {
      float top = a.score[group][0][channel];
      for (std::int64_t t = 1; t < ratio; ++t) top = std::max(top, a.score[group][t][channel]);
      const auto weight = [&](std::int64_t t) {
        return std::exp(static_cast<double>(a.score[group][t][channel] - top));
      };
      double weights = 0;
      for (std::int64_t t = 0; t < ratio; ++t) weights += weight(t);
      float sum = 0;
      for (std::int64_t t = 0; t < ratio; ++t) sum += static_cast<float>(weight(t) / weights) * a.kv[group][t][channel];
      a.out[group].store(channel, sum);
    }
  }
}

}  // namespace cachalot
