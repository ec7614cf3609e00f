// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"
#include "ops/scalar_math.h"

namespace cachalot {
namespace {

float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

void divide_rows(std::int64_t hc, float eps, float* comb) {
  for (float* row = comb; row < comb + hc * hc; row += hc) {
    float sum = 0;
    for (std::int64_t c = 0; c < hc; ++c) sum += row[c];
    for (std::int64_t c = 0; c < hc; ++c) row[c] /= sum + eps;
  }
}

// sum: [hc], room for the sums of the columns.
void divide_columns(std::int64_t hc, float eps, float* comb, float* sum) {
  std::fill_n(sum, hc, 0.0f);
  for (float* row = comb; row < comb + hc * hc; row += hc) {
    for (std::int64_t c = 0; c < hc; ++c) sum[c] += row[c];
  }
  for (float* row = comb; row < comb + hc * hc; row += hc) {
    for (std::int64_t c = 0; c < hc; ++c) row[c] /= sum[c] + eps;
  }
}

}  // namespace

void sinkhorn_cpu(Context& context, const SinkhornArgs& a) {
  const std::int64_t hc = a.pre.extent(1);
  check(a.iterations >= 1 && a.mixes.extent(1) == (2 + hc) * hc, "sinkhorn: mixes is [rows, (2 + hc) · hc]");
  const Arena::Frame frame(context.scratch);
  const auto sums = context.scratch.take<float, 2>({context.pool.threads(), hc});
  const auto combs = context.scratch.take<float, 2>({context.pool.threads(), hc * hc});
  context.pool.parallel(a.mixes.extent(0), 16, [&](std::int64_t begin, std::int64_t end, int thread) {
    float *comb = combs[thread].data(), *sum = sums[thread].data();
    for (std::int64_t r = begin; r < end; ++r) {
      const auto raw = [&](std::int64_t m, std::int64_t part) { return a.mixes[r][m] * a.scale[part] + a.base[m]; };
      for (std::int64_t c = 0; c < hc; ++c) {
        a.pre[r][c] = sigmoid(raw(c, 0)) + a.eps;
        a.post[r][c] = 2 * sigmoid(raw(hc + c, 1));
      }
      for (std::int64_t i = 0; i < hc * hc; ++i) comb[i] = raw(2 * hc + i, 2);
      for (float* row = comb; row < comb + hc * hc; row += hc) {
        const float top = *std::max_element(row, row + hc);
        for (std::int64_t c = 0; c < hc; ++c) row[c] = exp_of(row[c] - top);
      }
      divide_rows(hc, 0, comb);
      for (std::int64_t i = 0; i < hc * hc; ++i) comb[i] += a.eps;
      divide_columns(hc, a.eps, comb, sum);
      for (int i = 1; i < a.iterations; ++i) {
        divide_rows(hc, a.eps, comb);
        divide_columns(hc, a.eps, comb, sum);
      }
      for (std::int64_t k = 0; k < hc; ++k) std::copy_n(comb + k * hc, hc, a.comb[r][k].data());
    }
  });
}

}  // namespace cachalot
