// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/rms_norm.h"

#include <cmath>

#include "base/check.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm/rms_norm_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

void rms_norm_row(ConstValues<1> x, ConstValues<1> weight, float eps, Values<1> out) {
  const std::int64_t dim = x.extent(0);
  Sum squares = zero_sum();
  for (std::int64_t k = 0; k < dim; k += sum_lanes) {
    for (std::int64_t i = 0; i < parts; ++i) {
      const Floats v = load(x, k + i * width);
      squares.part[i] = hn::MulAdd(v, v, squares.part[i]);
    }
  }
  const float mean = total(squares) / static_cast<float>(dim);
  const Floats factor = hn::Set(F32(), 1 / std::sqrt(mean + eps));
  for (std::int64_t k = 0; k < dim; k += width) {
    store(hn::Mul(hn::Mul(load(x, k), factor), load(weight, k)), out, k);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(rms_norm_row);

void rms_norm_cpu(Context& context, const RmsNormArgs& a) {
  check(a.weight.extent(0) == a.x.extent(1) && a.out.shape() == a.x.shape(), "rms_norm: shapes fit");
  context.pool.parallel(a.x.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(rms_norm_row)(a.x[r], a.weight, a.eps, a.out[r]);
  });
}

}  // namespace cachalot
#endif
