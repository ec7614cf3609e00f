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

// One group: its tokens' kv and scores, each [head_dim].
void pool_group(View<const float* const, 1> kv, View<const float* const, 1> score, Values<1> out) {
  const std::int64_t dim = out.extent(0);
  const auto token = [dim](const float* x) { return ConstValues<1>(x, DType::f32, {dim}); };
  for (std::int64_t i = 0; i < dim; i += width) {
    Floats top = load(token(score[0]), i);
    for (std::int64_t t = 1; t < kv.extent(0); ++t) {
      const Floats s = load(token(score[t]), i);
      top = hn::IfThenElse(hn::Lt(top, s), s, top);  // as std::max: a NaN is never larger
    }
    const auto exponential = [&](std::int64_t t) HWY_ATTR { return exp_f32(hn::Sub(load(token(score[t]), i), top)); };
    Floats weights = hn::Zero(F32());
    for (std::int64_t t = 0; t < kv.extent(0); ++t) weights = hn::Add(weights, exponential(t));
    Floats sum = hn::Zero(F32());
    for (std::int64_t t = 0; t < kv.extent(0); ++t) {
      sum = hn::Add(sum, hn::Mul(hn::Div(exponential(t), weights), load(token(kv[t]), i)));
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
  check(a.score.shape() == a.kv.shape() && a.out.extent(0) == a.kv.extent(0), "compressor: shapes fit");
  check(a.kv.extent(1) > 0 || a.out.size() == 0, "compressor: a group has tokens");
  context.pool.parallel(a.out.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t g = begin; g < end; ++g) HWY_DYNAMIC_DISPATCH(pool_group)(a.kv[g], a.score[g], a.out[g]);
  });
}

}  // namespace cachalot
#endif
