// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/attention/compressor/compressor.h"

namespace cachalot {

void compressor_ref(Context&, const CompressorArgs& a) {
  const std::int64_t ratio = a.token.extent(1), dim = a.out.extent(1);
  check(a.fits(), "compressor: shapes fit");
  for (std::int64_t group = 0; group < a.out.extent(0); ++group) {
    for (std::int64_t channel = 0; channel < dim; ++channel) {
      const auto score = [&](std::int64_t t) { return a.input(group, t)[dim + channel]; };
      float top = score(0);
      for (std::int64_t t = 1; t < ratio; ++t) top = std::max(top, score(t));
      const auto weight = [&](std::int64_t t) { return std::exp(static_cast<double>(score(t) - top)); };
      double weights = 0;
      for (std::int64_t t = 0; t < ratio; ++t) weights += weight(t);
      float sum = 0;
      for (std::int64_t t = 0; t < ratio; ++t)
        sum += static_cast<float>(weight(t) / weights) * a.input(group, t)[channel];
      a.out[group].store(channel, sum);
    }
  }
}

}  // namespace cachalot
