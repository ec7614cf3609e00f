// SPDX-License-Identifier: Apache-2.0
// Packed rows (numerics/row_format.h) decoded a register at a time; compiled once for each SIMD level.
#if defined(CACHALOT_DEVICE_CPU_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CACHALOT_DEVICE_CPU_PACKED_INL_H_
#undef CACHALOT_DEVICE_CPU_PACKED_INL_H_
#else
#define CACHALOT_DEVICE_CPU_PACKED_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "device/cpu/simd-inl.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "numerics/row_format.h"
#include "tensor/packed_rows.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// The row's values as f32, zeros behind them up to `padded`. Exactly decode_row's.
HWY_INLINE void decode_packed(RowFormat f, PackedRows::Place row, std::int64_t n, float* to, std::int64_t padded) {
  const auto [codes, scales] = row;
  const std::int64_t whole = n / 32 * 32;
  switch (f) {
    case RowFormat::f32:
      std::copy_n(codes, 4 * whole, reinterpret_cast<std::uint8_t*>(to));
      break;
    case RowFormat::bf16:
      for (std::int64_t i = 0; i < whole; i += width) {
        hn::StoreU(load_bf16(reinterpret_cast<const bf16*>(codes + 2 * i)), F32(), to + i);
      }
      break;
    case RowFormat::e4m3_e8m0_32:
      for (std::int64_t i = 0; i < whole; i += 32) decode_e4m3(codes + i, to_float(e8m0{scales[i / 32]}), 32, to + i);
      break;
    case RowFormat::e2m1_e8m0_32:
      for (std::int64_t i = 0; i < whole; i += 32) {
        decode_e2m1(codes + i / 2, to_float(e8m0{scales[i / 32]}), 32, to + i);
      }
      break;
    case RowFormat::e2m1_e4m3_16:  // a register may hold two groups, so that scales come second
      for (std::int64_t i = 0; i < whole; i += 32) decode_e2m1(codes + i / 2, 1.0f, 32, to + i);
      for (std::int64_t i = 0; i < whole; i += width) {
        const Floats scale = hn::Set(F32(), to_float(e4m3{scales[i / 16]}));
        hn::StoreU(hn::Mul(hn::LoadU(F32(), to + i), scale), F32(), to + i);
      }
      break;
  }
  if (whole < n) {
    decode_row(f, codes + code_bytes(f, whole), scales + scale_bytes(f, whole),
               {to + whole, static_cast<std::size_t>(n - whole)});
  }
  std::fill(to + n, to + padded, 0.0f);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#endif  // the toggle
