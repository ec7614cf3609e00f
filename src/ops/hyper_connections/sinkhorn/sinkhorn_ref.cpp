// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "ops/scalar_math.h"

namespace cachalot {
namespace {

// Divides n numbers that stand `step` apart by their sum + eps.
void normalize(float* v, std::size_t n, std::size_t step, float eps) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += v[i * step];
  for (std::size_t i = 0; i < n; ++i) v[i * step] /= sum + eps;
}

}  // namespace

void sinkhorn_ref(Context&, const SinkhornArgs& a) {
  const std::int64_t hc = a.pre.extent(1);
  check(a.iterations >= 1 && a.mixes.extent(1) == (2 + hc) * hc, "sinkhorn: mixes is [rows, (2 + hc) · hc]");
  const auto n = static_cast<std::size_t>(hc);
  std::vector<float> comb(n * n);
  for (std::int64_t r = 0; r < a.mixes.extent(0); ++r) {
    const auto raw = [&](std::int64_t m, std::int64_t part) { return a.mixes[r][m] * a.scale[part] + a.base[m]; };
    for (std::int64_t c = 0; c < hc; ++c) {
      a.pre[r][c] = sigmoid(raw(c, 0)) + a.eps;
      a.post[r][c] = 2 * sigmoid(raw(hc + c, 1));
    }
    for (std::size_t i = 0; i < n * n; ++i) comb[i] = raw(2 * hc + static_cast<std::int64_t>(i), 2);
    for (std::size_t k = 0; k < n; ++k) {  // softmax of each row, eps on top
      float* row = &comb[k * n];
      const float top = *std::max_element(row, row + n);
      for (std::size_t c = 0; c < n; ++c) row[c] = static_cast<float>(std::exp(static_cast<double>(row[c] - top)));
      normalize(row, n, 1, 0);
      for (std::size_t c = 0; c < n; ++c) row[c] += a.eps;
    }
    for (std::size_t c = 0; c < n; ++c) normalize(&comb[c], n, n, a.eps);
    for (int i = 1; i < a.iterations; ++i) {
      for (std::size_t k = 0; k < n; ++k) normalize(&comb[k * n], n, 1, a.eps);
      for (std::size_t c = 0; c < n; ++c) normalize(&comb[c], n, n, a.eps);
    }
    for (std::int64_t i = 0; i < hc * hc; ++i) {
      a.comb[r][i / hc][i % hc] = comb[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace cachalot
