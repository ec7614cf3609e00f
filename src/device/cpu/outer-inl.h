// SPDX-License-Identifier: Apache-2.0
// Products in which the numbers of a register are different sums, each k ascending; compiled once for each SIMD level.
#if defined(CACHALOT_DEVICE_CPU_OUTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHALOT_DEVICE_CPU_OUTER_INL_H_
#undef CACHALOT_DEVICE_CPU_OUTER_INL_H_
#else
#define CACHALOT_DEVICE_CPU_OUTER_INL_H_
#endif

#include <cstdint>

#include "device/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

constexpr std::int64_t outer_columns = 2 * width;  // divides 32

// rows × outer_columns sums.
template <int rows>
struct Outer {
  HWY_INLINE Outer() {}  // as Sum's
  Floats sum[rows][2];
};

// sum[r][c] += Σ_k a[r][k] · b[k][c] over n values of k, ascending, by fused multiply-add.
template <int rows>
HWY_INLINE void add_outer(Outer<rows>& to, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                          std::int64_t n) {
  const F32 f;
  Outer<rows> t = to;
  for (std::int64_t k = 0; k < n; ++k) {
    const Floats b0 = hn::LoadU(f, b + k * b_stride);
    const Floats b1 = hn::LoadU(f, b + k * b_stride + width);
    for (int r = 0; r < rows; ++r) {
      const Floats v = hn::Set(f, a[r * a_stride + k]);
      t.sum[r][0] = hn::MulAdd(v, b0, t.sum[r][0]);
      t.sum[r][1] = hn::MulAdd(v, b1, t.sum[r][1]);
    }
  }
  to = t;
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#endif  // the toggle
