// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/rows.h"

#include <algorithm>

#include "device/cpu/matmul.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/rows.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/simd-inl.h"
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// f32 to the nearest e4m3 value, for |v| <= 448; ties to even.
HWY_INLINE Floats round_e4m3(Floats v) {
  const F32 f;
  const U32 u;
  const Words bits = hn::BitCast(u, hn::Abs(v));
  const Words odd = hn::And(hn::ShiftRight<20>(bits), hn::Set(u, 1u));
  const Words rounded = hn::AndNot(hn::Set(u, 0xFFFFFu), hn::Add(bits, hn::Add(hn::Set(u, 0x7FFFFu), odd)));
  // Below 2^-6 the step is 2^-9: adding 1.5 · 2^14 leaves no finer bits.
  const Floats magic = hn::Set(f, 1.5f * 0x1p14f);
  const Floats small = hn::Sub(hn::Add(hn::Abs(v), magic), magic);
  const Floats magnitude = hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(f, 0x1p-6f)), small, hn::BitCast(f, rounded));
  return hn::CopySign(magnitude, v);
}

// 32 values in place.
HWY_INLINE void round_trip_fp8(float* x) {
  const F32 f;
  Floats largest = hn::Set(f, 1e-4f);
  for (std::int64_t i = 0; i < 32; i += width) {  // as the codec: NaN counts for nothing here …
    const Floats v = hn::Abs(hn::LoadU(f, x + i));
    largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
  }
  const float a = hn::GetLane(hn::MaxOfLanes(f, largest));
  const float scale = to_float(ceil_e8m0(a * (1.0f / e4m3_max)));
  const Floats down = hn::Set(f, 1.0f / scale);  // a power of two: exact
  const Floats up = hn::Set(f, scale);
  const Floats limit = hn::Set(f, e4m3_max);
  for (std::int64_t i = 0; i < 32; i += width) {
    const Floats from = hn::LoadU(f, x + i);
    const Floats v = hn::Clamp(hn::Mul(from, down), hn::Neg(limit), limit);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(from), from, hn::Mul(round_e4m3(v), up)), f, x + i);  // … and stays
  }
}

void load_row(ConstValues<1> x, RoundTrip round_trip, float* to, std::int64_t padded) {
  for (std::int64_t i = 0; i < padded; i += width) hn::StoreU(load(x, i), F32(), to + i);
  for (std::int64_t i = 0; round_trip == RoundTrip::fp8 && i < x.extent(0); i += 32) round_trip_fp8(to + i);
}

void store_row(const float* from, Values<1> to) {
  const ConstValues<1> row(from, DType::f32, to.shape());
  for (std::int64_t i = 0; i < to.extent(0); i += width) store(load(row, i), to, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(load_row);
HWY_EXPORT(store_row);

View<float, 2> load_rows(ThreadPool& pool, Arena& scratch, ConstValues<2> x, RoundTrip round_trip) {
  check(round_trip == RoundTrip::none || x.extent(1) % 32 == 0, "a quantized input has whole groups of 32");
  const auto to = scratch.take<float, 2>({x.extent(0), padded_width(x.extent(1))});
  pool.parallel(x.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r)
      HWY_DYNAMIC_DISPATCH(load_row)(x[r], round_trip, to[r].data(), to.extent(1));
  });
  return to;
}

void store_rows(ThreadPool& pool, View<const float, 2> from, Values<2> to) {
  check(from.extent(0) == to.extent(0) && from.extent(1) >= to.extent(1), "store_rows has a row for every row");
  pool.parallel(to.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) HWY_DYNAMIC_DISPATCH(store_row)(from[r].data(), to[r]);
  });
}

std::span<const float* const> row_pointers(Arena& scratch, View<const float, 2> rows) {
  const auto p = scratch.take<const float*, 1>({rows.extent(0)});
  for (std::int64_t r = 0; r < rows.extent(0); ++r) p[r] = rows[r].data();
  return p.span();
}

std::span<float* const> row_pointers(Arena& scratch, View<float, 2> rows) {
  const auto p = scratch.take<float*, 1>({rows.extent(0)});
  for (std::int64_t r = 0; r < rows.extent(0); ++r) p[r] = rows[r].data();
  return p.span();
}

}  // namespace cachalot
#endif
