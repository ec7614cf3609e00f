// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"

#include "base/check.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/hyper_connections/fold/fold_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

void fold_row(ConstValues<2> h, View<const float, 1> mix, Values<1> out) {
  for (std::int64_t d = 0; d < h.extent(1); d += width) {
    Floats sum = hn::Zero(F32());
    for (std::int64_t c = 0; c < h.extent(0); ++c) sum = hn::Add(sum, hn::Mul(hn::Set(F32(), mix[c]), load(h[c], d)));
    store(sum, out, d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(fold_row);

void fold_cpu(Context& context, const FoldArgs& a) {
  check(a.out.extent(1) == a.h.extent(2) && a.mix.extent(1) == a.h.extent(1), "fold: shapes fit");
  context.pool.parallel(a.h.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(fold_row)(a.h[r], a.mix[r], a.out[r]);
  });
}

}  // namespace cachalot
#endif
