// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/check.h"

namespace cachalot {

void mix_ref(Context&, const MixArgs& a) {
  const std::int64_t copies = a.h.extent(1), dim = a.h.extent(2);
  check(a.fn.in == copies * dim && a.fn.out == a.mixes.extent(1), "mix: fn is [mixes, hc · dim]");
  std::vector<float> fn(static_cast<std::size_t>(a.fn.in));
  for (std::int64_t r = 0; r < a.h.extent(0); ++r) {
    std::vector<float> x;  // the copies side by side
    for (std::int64_t c = 0; c < copies; ++c) std::ranges::copy(a.h[r][c].floats(), std::back_inserter(x));
    double squares = 0;
    for (const float v : x) squares += v * v;
    const float rho = 1 / std::sqrt(static_cast<float>(squares / static_cast<double>(x.size())) + a.eps);
    for (std::int64_t m = 0; m < a.fn.out; ++m) {
      a.fn.values(m, fn);
      double dot = 0;
      for (std::size_t i = 0; i < x.size(); ++i) dot += static_cast<double>(x[i]) * fn[i];
      a.mixes[r][m] = static_cast<float>(dot) * rho;
    }
  }
}

}  // namespace cachalot
