// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include "base/check.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/moe/combine/combine_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

void combine_row(ConstValues<2> routed, View<const std::int64_t, 1> order, ConstValues<1> shared, Values<1> out) {
  for (std::int64_t d = 0; d < out.extent(0); d += width) {
    Floats sum = hn::Zero(F32());
    for (const std::int64_t k : order.span()) sum = hn::Add(sum, load(routed[k], d));
    store(hn::Add(sum, load(shared, d)), out, d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(combine_row);

void combine_cpu(Context& context, const CombineArgs& a) {
  check(a.routed.extent(2) == a.out.extent(1) && a.shared.extent(1) == a.out.extent(1), "combine: shapes fit");
  const Arena::Frame frame(context.scratch);
  const auto order = context.scratch.take<std::int64_t, 2>({context.pool.threads(), a.routed.extent(1)});
  context.pool.parallel(a.routed.extent(0), 2, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t r = begin; r < end; ++r) {
      order_of_sum(a.expert[r], order[thread].span());
      HWY_DYNAMIC_DISPATCH(combine_row)(a.routed[r], order[thread], a.shared[r], a.out[r]);
    }
  });
}

}  // namespace cachalot
#endif
