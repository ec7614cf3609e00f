// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/unfold/unfold.h"

#include "base/check.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/hyper_connections/unfold/unfold_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// before: [hc · 16], one register of each copy: out may be h, so all copies are read before one is written.
void unfold_row(ConstValues<1> y, ConstValues<2> h, View<const float, 1> post, View<const float, 2> comb, Values<2> out,
                float* before) {
  const F32 f;
  const std::int64_t copies = h.extent(0);
  for (std::int64_t d = 0; d < y.extent(0); d += width) {
    for (std::int64_t k = 0; k < copies; ++k) hn::StoreU(load(h[k], d), f, before + k * width);
    const Floats added = load(y, d);
    for (std::int64_t c = 0; c < copies; ++c) {
      Floats sum = hn::Zero(f);
      for (std::int64_t k = 0; k < copies; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Set(f, comb[k][c]), hn::LoadU(f, before + k * width)));
      }
      store(hn::Add(sum, hn::Mul(hn::Set(f, post[c]), added)), out[c], d);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(unfold_row);

void unfold_cpu(Context& context, const UnfoldArgs& a) {
  const std::int64_t copies = a.h.extent(1);
  check(a.out.shape() == a.h.shape() && a.y.extent(1) == a.h.extent(2) && a.comb.extent(2) == copies,
        "unfold: shapes fit");
  const Arena::Frame frame(context.scratch);
  const auto before = context.scratch.take<float, 2>({context.pool.threads(), copies * 16});
  context.pool.parallel(a.h.extent(0), 2, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(unfold_row)
    (a.y[r], a.h[r], a.post[r], a.comb[r], a.out[r], before[thread].data());
  });
}

}  // namespace cachalot
#endif
