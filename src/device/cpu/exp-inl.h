// SPDX-License-Identifier: Apache-2.0
// e^x for kernels; compiled once for each SIMD level.
#if defined(CACHALOT_DEVICE_CPU_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHALOT_DEVICE_CPU_EXP_INL_H_
#undef CACHALOT_DEVICE_CPU_EXP_INL_H_
#else
#define CACHALOT_DEVICE_CPU_EXP_INL_H_
#endif

#include "device/cpu/simd-inl.h"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// Within an f32 ulp for x <= 0 and exactly 1 at 0; 0 from -104 down. Highway's gives 0 for NaN; here NaN stays NaN.
HWY_INLINE Floats exp_f32(Floats x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(F32(), x)); }

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#endif  // the toggle
