// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/mix/mix.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/hyper_connections/mix/mix_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// The copies side by side as f32, zeros behind them up to `padded`. Returns the sum of their squares.
float flatten(ConstValues<2> copies, float* to, std::int64_t padded) {
  const std::int64_t dim = copies.extent(1);
  for (std::int64_t c = 0; c < copies.extent(0); ++c) {
    const Values<1> part(to + c * dim, DType::f32, {dim});
    for (std::int64_t d = 0; d < dim; d += width) store(load(copies[c], d), part, d);
  }
  std::fill(to + copies.size(), to + padded, 0.0f);
  return dot(to, to, padded);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(flatten);

void mix_cpu(Context& context, const MixArgs& a) {
  const std::int64_t rows = a.h.extent(0), values = a.h.extent(1) * a.h.extent(2);
  check(a.fn.in == values && a.fn.out == a.mixes.extent(1), "mix: fn is [mixes, hc · dim]");
  const Arena::Frame frame(context.scratch);
  const auto x = context.scratch.take<float, 2>({rows, padded_width(values)});
  const auto squares = context.scratch.take<float, 1>({rows});
  context.pool.parallel(rows, 2, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r)
      squares[r] = HWY_DYNAMIC_DISPATCH(flatten)(a.h[r], x[r].data(), x.extent(1));
  });
  matmul(context.pool, context.scratch,
         {row_pointers(context.scratch, View<const float, 2>(x)), a.fn, row_pointers(context.scratch, a.mixes)});
  for (std::int64_t r = 0; r < rows; ++r) {
    const float rho = 1 / std::sqrt(squares[r] / static_cast<float>(values) + a.eps);
    for (float& m : a.mixes[r].span()) m *= rho;
  }
}

}  // namespace cachalot
#endif
