// SPDX-License-Identifier: Apache-2.0
// What every CPU kernel is made of, once for each SIMD level (the guard below is Highway's).
//
// Sums: whatever the width of a register, a sum over k has 16 lanes, lane = k mod 16, each added in order of k by fused
// multiply-add, and one tree at the end. So a row's sum is the same alone and among others, on any number of threads,
// and on AVX2, AVX-512 and NEON alike.
#if defined(CACHALOT_DEVICE_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHALOT_DEVICE_CPU_SIMD_INL_H_
#undef CACHALOT_DEVICE_CPU_SIMD_INL_H_
#else
#define CACHALOT_DEVICE_CPU_SIMD_INL_H_
#endif

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tensor/values.h"
#include "tensor/weight.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::Rebind<std::uint32_t, F32>;
using Floats = hn::Vec<F32>;
using Words = hn::Vec<U32>;

constexpr std::int64_t sum_lanes = 16;
constexpr std::int64_t width = static_cast<std::int64_t>(hn::MaxLanes(F32()));  // of a register: 1, 4, 8 or 16
constexpr std::int64_t parts = sum_lanes / width;  // registers that hold the lanes of one sum

// The lanes of one sum.
struct Sum {
  HWY_INLINE Sum() {}  // not left to g++, whose own would lack the target's attributes on arm64
  Floats part[parts];
};

HWY_INLINE Sum zero_sum() {
  Sum s;
  for (std::int64_t i = 0; i < parts; ++i) s.part[i] = hn::Zero(F32());
  return s;
}
HWY_INLINE Sum load_sum(const float* from) {
  Sum s;
  for (std::int64_t i = 0; i < parts; ++i) s.part[i] = hn::LoadU(F32(), from + i * width);
  return s;
}
HWY_INLINE void store_sum(const Sum& s, float* to) {
  for (std::int64_t i = 0; i < parts; ++i) hn::StoreU(s.part[i], F32(), to + i * width);
}
// Adds a[k] · b[k] for the next 16 values of k.
HWY_INLINE void add_products(Sum& s, const float* a, const float* b) {
  for (std::int64_t i = 0; i < parts; ++i) {
    s.part[i] = hn::MulAdd(hn::LoadU(F32(), a + i * width), hn::LoadU(F32(), b + i * width), s.part[i]);
  }
}

// The one tree: lanes i and i + 8, then + 4, + 2, + 1.
HWY_INLINE float tree(const float* lanes) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) a[i] = a[i] + a[i + 4];
  return (a[0] + a[2]) + (a[1] + a[3]);
}
HWY_INLINE float total(const Sum& s) {
  HWY_ALIGN float lanes[sum_lanes];
  store_sum(s, lanes);
  return tree(lanes);
}

// Σ a[k] · b[k] over n values, n a multiple of 16.
HWY_INLINE float dot(const float* a, const float* b, std::int64_t n) {
  Sum s = zero_sum();
  for (std::int64_t k = 0; k < n; k += sum_lanes) add_products(s, a + k, b + k);
  return total(s);
}

// ---- codes to numbers, `width` at a time, without touching subnormal floats

// e4m3 codes in the low byte of each word. Exact, NaN too: a damaged weight must not pass for a number.
HWY_INLINE Floats decode_e4m3(Words code) {
  const F32 f;
  const U32 u;
  const Words magnitude = hn::And(code, hn::Set(u, 0x7Fu));
  const Words shifted = hn::ShiftLeft<20>(magnitude);
  const Floats normal = hn::BitCast(f, hn::Add(shifted, hn::Set(u, 120u << 23)));
  // Codes below 8 are multiples of 2^-9: read as 2^-6 · (1 + m / 8), they are 2^-6 too large.
  const Floats small = hn::Sub(hn::BitCast(f, hn::Add(shifted, hn::Set(u, 121u << 23))), hn::Set(f, 0x1p-6f));
  const Floats value = hn::IfThenElse(hn::RebindMask(f, hn::Lt(magnitude, hn::Set(u, 8u))), small, normal);
  const Words sign = hn::ShiftLeft<24>(hn::And(code, hn::Set(u, 0x80u)));
  const Words nan = hn::VecFromMask(u, hn::Eq(magnitude, hn::Set(u, 0x7Fu)));  // all bits set where the code is NaN
  return hn::BitCast(f, hn::Or(hn::Or(hn::BitCast(u, value), sign), nan));
}

// e2m1 codes in the low four bits of each word; other bits are zero.
HWY_INLINE Floats decode_e2m1(Words code) {
  const F32 f;
  const U32 u;
  const Words magnitude = hn::And(code, hn::Set(u, 7u));
  const Words shifted = hn::ShiftLeft<22>(magnitude);
  const Floats normal = hn::BitCast(f, hn::Add(shifted, hn::Set(u, 126u << 23)));
  const Floats small =
      hn::Sub(hn::BitCast(f, hn::Add(shifted, hn::Set(u, 127u << 23))), hn::Set(f, 1.0f));  // 0 and 0.5
  const Floats value = hn::IfThenElse(hn::RebindMask(f, hn::Lt(magnitude, hn::Set(u, 2u))), small, normal);
  const Words sign = hn::ShiftLeft<28>(hn::And(code, hn::Set(u, 8u)));
  return hn::BitCast(f, hn::Or(hn::BitCast(u, value), sign));
}

HWY_INLINE Words load_bytes(const std::uint8_t* from) {
  const hn::Rebind<std::uint8_t, F32> bytes;
  return hn::PromoteTo(U32(), hn::LoadU(bytes, from));
}
HWY_INLINE Floats load_bf16(const bf16* from) {
  const hn::Rebind<std::uint16_t, F32> halves;
  return hn::BitCast(
      F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from)))));
}

// f16 bits to f32, exact, subnormals too: one instruction from AVX2 on.
using Halves = hn::Vec<hn::Rebind<std::int16_t, F32>>;
HWY_INLINE Floats from_f16(Halves bits) {
  return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), bits));
}

// Whether one of 32 e4m3 codes is NaN.
HWY_INLINE bool has_nan(const std::uint8_t* codes) {
  const hn::CappedTag<std::uint8_t, 32> d;
  const auto highest = hn::Set(d, std::uint8_t{0x7F});
  auto found = hn::Zero(d);
  for (std::size_t i = 0; i < 32; i += hn::Lanes(d)) {
    found = hn::Or(found, hn::VecFromMask(d, hn::Eq(hn::And(hn::LoadU(d, codes + i), highest), highest)));
  }
  return !hn::AllFalse(d, hn::MaskFromVec(found));
}

// n codes, a multiple of 32, all under one scale. As f16 bits, a code (its sign in front, its other bits moved to the
// exponent's end) is its value / 256. That holds for subnormals and not for NaN, and only while 256 · scale is a
// number: the rest goes the long way.
HWY_INLINE void decode_e4m3(const std::uint8_t* codes, float scale, std::int64_t n, float* to) {
  const hn::Rebind<std::int8_t, F32> bytes;
  const hn::Rebind<std::int16_t, F32> halves;
  for (std::int64_t first = 0; first < n; first += 32, codes += 32, to += 32) {
    if (scale > 0x1p119f || has_nan(codes)) {
      const Floats s = hn::Set(F32(), scale);
      for (std::int64_t i = 0; i < 32; i += width)
        hn::StoreU(hn::Mul(decode_e4m3(load_bytes(codes + i)), s), F32(), to + i);
      continue;
    }
    const Floats s = hn::Set(F32(), 256.0f * scale);
    for (std::int64_t i = 0; i < 32; i += width) {
      const Halves signs = hn::PromoteTo(halves, hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(codes + i)));
      const Halves bits = hn::And(hn::ShiftLeft<7>(signs), hn::Set(halves, static_cast<std::int16_t>(0xBFFF)));
      hn::StoreU(hn::Mul(from_f16(bits), s), F32(), to + i);
    }
  }
}

// n codes, a multiple of 32, all under one scale. The upper byte of a value's f16 says all of it.
#if HWY_TARGET == HWY_SCALAR  // which has no tables
HWY_INLINE void decode_e2m1(const std::uint8_t* packed, float scale, std::int64_t n, float* to) {
  const Floats s = hn::Set(F32(), scale);
  for (std::int64_t i = 0; i < n; i += 2) {
    const Words both = load_bytes(packed + i / 2);
    hn::StoreU(hn::Mul(decode_e2m1(hn::And(both, hn::Set(U32(), 15u))), s), F32(), to + i);
    hn::StoreU(hn::Mul(decode_e2m1(hn::ShiftRight<4>(both)), s), F32(), to + i + 1);
  }
}
#else
HWY_INLINE void decode_e2m1(const std::uint8_t* packed, float scale, std::int64_t n, float* to) {
  HWY_ALIGN static constexpr std::uint8_t f16_high[16] = {0x00, 0x38, 0x3C, 0x3E, 0x40, 0x42, 0x44, 0x46,
                                                          0x80, 0xB8, 0xBC, 0xBE, 0xC0, 0xC2, 0xC4, 0xC6};
  const hn::FixedTag<std::uint8_t, 16> d;
  const hn::Rebind<std::uint8_t, F32> bytes;
  const hn::Rebind<std::uint16_t, F32> words;
  const hn::Rebind<std::int16_t, F32> halves;
  const auto table = hn::Load(d, f16_high);
  const Floats s = hn::Set(F32(), scale);
  for (std::int64_t i = 0; i < n; i += 32) {
    const auto both = hn::LoadU(d, packed + i / 2);
    const auto even = hn::And(both, hn::Set(d, std::uint8_t{15})), odd = hn::ShiftRight<4>(both);
    HWY_ALIGN std::uint8_t high[32];
    hn::Store(hn::TableLookupBytes(table, hn::InterleaveLower(d, even, odd)), d, high);
    hn::Store(hn::TableLookupBytes(table, hn::InterleaveUpper(d, even, odd)), d, high + 16);
    for (std::int64_t j = 0; j < 32; j += width) {
      const auto bits = hn::ShiftLeft<8>(hn::PromoteTo(words, hn::LoadU(bytes, high + j)));
      hn::StoreU(hn::Mul(from_f16(hn::BitCast(halves, bits)), s), F32(), to + i + j);
    }
  }
}
#endif

// A product reads a few rows side by side, a stretch of each in turn: too short a stretch for the processor to see the
// stream. Asks for what comes two stretches later; that may be behind the weight, where asking does no harm.
HWY_INLINE void fetch_ahead(const std::uint8_t* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) hwy::Prefetch(from + 2 * bytes + i);
}

// Values `first` … of a row of a weight, decoded with their scales, `count` of them and zeros up to a multiple of 16.
// `first` is a multiple of 32.
HWY_INLINE void decode_weight(const Weight& w, std::int64_t row, std::int64_t first, std::int64_t count, float* to) {
  const std::int64_t padded = (count + sum_lanes - 1) / sum_lanes * sum_lanes;
  const std::int64_t vector_part = w.quantized() ? count / 32 * 32 : count / sum_lanes * sum_lanes;
  const std::int64_t at = row * w.in + first;
  switch (w.format) {
    case WeightFormat::f32:
      for (std::int64_t i = 0; i < vector_part; i += width) {
        hn::StoreU(hn::LoadU(F32(), static_cast<const float*>(w.data) + at + i), F32(), to + i);
      }
      break;
    case WeightFormat::bf16:
      for (std::int64_t i = 0; i < vector_part; i += width)
        hn::StoreU(load_bf16(static_cast<const bf16*>(w.data) + at + i), F32(), to + i);
      break;
    case WeightFormat::f16:
      for (std::int64_t i = 0; i < vector_part; ++i) to[i] = to_float(static_cast<const f16*>(w.data)[at + i]);
      break;
    case WeightFormat::e4m3_block32:
      fetch_ahead(static_cast<const std::uint8_t*>(w.data) + at, count);
      for (std::int64_t i = 0; i < vector_part; i += 32) {
        decode_e4m3(static_cast<const std::uint8_t*>(w.data) + at + i, w.block_scale(row, (first + i) / 32), 32,
                    to + i);
      }
      break;
    case WeightFormat::e2m1_row32:
      fetch_ahead(static_cast<const std::uint8_t*>(w.data) + row * (w.in / 2) + first / 2, count / 2);
      for (std::int64_t i = 0; i < vector_part; i += 32) {
        decode_e2m1(static_cast<const std::uint8_t*>(w.data) + row * (w.in / 2) + (first + i) / 2,
                    w.block_scale(row, (first + i) / 32), 32, to + i);
      }
      break;
  }
  for (std::int64_t i = vector_part; i < count; ++i) to[i] = w.value(row, first + i);
  for (std::int64_t i = count; i < padded; ++i) to[i] = 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#endif  // the toggle
