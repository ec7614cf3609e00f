// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/check.h"
#include "ops/norm/rms_norm.h"

namespace cachalot {

void rms_norm_ref(Context&, const RmsNormArgs& a) {
  const std::int64_t dim = a.x.extent(1);
  check(a.weight.extent(0) == dim && a.out.shape() == a.x.shape(), "rms_norm: shapes fit");
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    const auto x = a.x[row];
    double squares = 0;
    for (std::int64_t i = 0; i < dim; ++i) squares += static_cast<double>(x.load(i)) * x.load(i);
    const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(dim) + a.eps));
    for (std::int64_t i = 0; i < dim; ++i) a.out[row].store(i, x.load(i) * factor * a.weight.load(i));
  }
}

}  // namespace cachalot
