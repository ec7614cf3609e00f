// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "ops/attention/compressor/compressor.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/compressor/compressor_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the lines above before those below.
#include "device/cpu/exp-inl.h"
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

void pool_group(const CompressorArgs& a, std::int64_t group, Values<1> out) {
  const std::int64_t dim = out.extent(0), ratio = a.token.extent(1);
  const auto kv = [&](std::int64_t t) { return ConstValues<1>(a.input(group, t), DType::f32, {dim}); };
  const auto score = [&](std::int64_t t) { return ConstValues<1>(a.input(group, t) + dim, DType::f32, {dim}); };
  for (std::int64_t i = 0; i < dim; i += width) {
    Floats top = load(score(0), i);
    for (std::int64_t t = 1; t < ratio; ++t) {
      const Floats s = load(score(t), i);
      top = hn::IfThenElse(hn::Lt(top, s), s, top);  // as std::max: a NaN is never larger
    }
    const auto exponential = [&](std::int64_t t) HWY_ATTR { return exp_f32(hn::Sub(load(score(t), i), top)); };
    Floats weights = hn::Zero(F32());
    for (std::int64_t t = 0; t < ratio; ++t) weights = hn::Add(weights, exponential(t));
    Floats sum = hn::Zero(F32());
    for (std::int64_t t = 0; t < ratio; ++t) {
      sum = hn::Add(sum, hn::Mul(hn::Div(exponential(t), weights), load(kv(t), i)));
    }
    store(sum, out, i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(pool_group);

void compressor_cpu(Context& context, const CompressorArgs& a) {
  check(a.fits(), "compressor: shapes fit");
  check(a.token.extent(1) > 0 || a.out.size() == 0, "compressor: a group has tokens");
  context.pool.parallel(a.out.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t g = begin; g < end; ++g) HWY_DYNAMIC_DISPATCH(pool_group)(a, g, a.out[g]);
  });
}

}  // namespace cachalot
#endif
