// SPDX-License-Identifier: Apache-2.0
// How kernels read and write rows of activations, bf16 or f32, a register at a time; compiled once for each SIMD level.
//
// Past a row's end there are zeros to read and nothing to write, so that a kernel has no scalar tail whose bits could
// differ from those of its vectors.
#if defined(CACHALOT_DEVICE_CPU_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHALOT_DEVICE_CPU_VALUES_INL_H_
#undef CACHALOT_DEVICE_CPU_VALUES_INL_H_
#else
#define CACHALOT_DEVICE_CPU_VALUES_INL_H_
#endif

#include <cstdint>

#include "device/cpu/simd-inl.h"
#include "tensor/values.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// Values i … i + width - 1 of a row.
HWY_INLINE Floats load(ConstValues<1> x, std::int64_t i) {
  if (i + width <= x.extent(0)) {
    return x.is_bf16() ? load_bf16(static_cast<const bf16*>(x.data()) + i)
                       : hn::LoadU(F32(), static_cast<const float*>(x.data()) + i);
  }
  HWY_ALIGN float rest[width] = {};
  for (std::int64_t j = 0; i + j < x.extent(0); ++j) rest[j] = x.load(i + j);
  return hn::Load(F32(), rest);
}

// Nearest bf16, ties to even, NaN stays NaN: to_bf16 of each lane, in the low half of each word.
HWY_INLINE Words bf16_bits(Floats v) {
  const U32 u;
  const Words bits = hn::BitCast(u, v);
  const Words high = hn::ShiftRight<16>(bits);
  const Words odd = hn::And(high, hn::Set(u, 1u));
  const Words rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(u, 0x7FFFu), odd)));
  return hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(v)), hn::Or(high, hn::Set(u, 0x40u)), rounded);
}
HWY_INLINE Floats round_bf16(Floats v) { return hn::BitCast(F32(), hn::ShiftLeft<16>(bf16_bits(v))); }

// Rounds to the row's type and writes values i … i + width - 1.
HWY_INLINE void store(Floats v, Values<1> to, std::int64_t i) {
  if (i + width > to.extent(0)) {
    HWY_ALIGN float rest[width];
    hn::Store(v, F32(), rest);
    for (std::int64_t j = 0; i + j < to.extent(0); ++j) to.store(i + j, static_cast<double>(rest[j]));
  } else if (to.is_bf16()) {
    const hn::Rebind<std::uint16_t, F32> halves;
    hn::StoreU(hn::TruncateTo(halves, bf16_bits(v)), halves, static_cast<std::uint16_t*>(to.data()) + i);
  } else {
    hn::StoreU(v, F32(), static_cast<float*>(to.data()) + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#endif  // the toggle
