// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <cmath>

#include "base/check.h"

namespace cachalot {

void mix_ref(Context&, const MixArgs& a) {
  const std::int64_t copies = a.h.extent(1), dim = a.h.extent(2);
  check(a.fn.in == copies * dim && a.fn.out == a.mixes.extent(1), "mix: fn is [mixes, hc · dim]");
  for (std::int64_t r = 0; r < a.h.extent(0); ++r) {
    double squares = 0;
    for (std::int64_t c = 0; c < copies; ++c) {
      for (std::int64_t d = 0; d < dim; ++d) {
        const double v = a.h[r][c].load(d);
        squares += v * v;
      }
    }
    const double rho = 1 / std::sqrt(squares / static_cast<double>(copies * dim) + a.eps);
    for (std::int64_t m = 0; m < a.fn.out; ++m) {
      double dot = 0;
      for (std::int64_t c = 0; c < copies; ++c) {
        for (std::int64_t d = 0; d < dim; ++d) {
          dot += static_cast<double>(a.h[r][c].load(d)) * a.fn.value(m, c * dim + d);
        }
      }
      a.mixes[r][m] = static_cast<float>(dot * rho);
    }
  }
}

}  // namespace cachalot
