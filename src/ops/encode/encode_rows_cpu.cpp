// SPDX-License-Identifier: Apache-2.0
#include "ops/encode/encode_rows.h"

#include <bit>

#include "base/check.h"
#include "base/ids.h"
#include "numerics/e2m1.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/encode/encode_rows_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// Codes of finite values already divided by their scale, one in each word. A number is rounded in its own binade by
// its bits, and below the first normal code by adding a number so large that only whole steps remain.
template <int mantissa_bits, int bias>
HWY_INLINE Words round_codes(Floats v, float largest, float first_normal, float magic) {
  const F32 f;
  const U32 u;
  constexpr int cut = 23 - mantissa_bits;
  const Floats m = hn::Min(hn::Abs(v), hn::Set(f, largest));
  const Words bits = hn::BitCast(u, m);
  const Words odd = hn::And(hn::ShiftRight<cut>(bits), hn::Set(u, 1u));
  const Words nearest = hn::Add(bits, hn::Add(hn::Set(u, (1u << (cut - 1)) - 1), odd));
  const Words normal = hn::Sub(hn::ShiftRight<cut>(nearest), hn::Set(u, (127u - bias) << mantissa_bits));
  const Floats step = hn::Set(f, magic);
  const Words small = hn::Sub(hn::BitCast(u, hn::Add(m, step)), hn::BitCast(u, step));
  return hn::IfThenElse(hn::RebindMask(u, hn::Lt(m, hn::Set(f, first_normal))), small, normal);
}
HWY_INLINE Words sign_bit(Floats v) { return hn::ShiftRight<31>(hn::BitCast(U32(), v)); }
HWY_INLINE Words e4m3_codes(Floats v) {
  return hn::Or(round_codes<3, 7>(v, e4m3_max, 0x1p-6f, 1.5f * 0x1p14f), hn::ShiftLeft<7>(sign_bit(v)));
}
HWY_INLINE Words e2m1_codes(Floats v) {
  return hn::Or(round_codes<1, 1>(v, e2m1_max, 1.0f, 1.5f * 0x1p22f), hn::ShiftLeft<3>(sign_bit(v)));
}

// The largest magnitude of a group, at least `at_least`; -1 where a value is not finite.
HWY_INLINE float magnitude(const float* x, std::int64_t n, float at_least) {
  const U32 u;  // positive floats are ordered as their bits are, and what is not finite has the largest
  Words largest = hn::BitCast(u, hn::Set(F32(), at_least));
  for (std::int64_t i = 0; i < n; i += width) {
    largest = hn::Max(largest, hn::BitCast(u, hn::Abs(hn::LoadU(F32(), x + i))));
  }
  const std::uint32_t bits = hn::GetLane(hn::MaxOfLanes(u, largest));
  return bits < 0x7F800000u ? std::bit_cast<float>(bits) : -1.0f;
}

// One group in a quantized format; returns the code of its scale. The quantizers of numerics/ take what is not finite.
HWY_INLINE std::uint8_t encode_group(RowFormat format, const float* x, std::uint8_t* to) {
  const hn::Rebind<std::uint8_t, F32> bytes;
  const std::int64_t n = group_size(format);
  const std::span<const float> group(x, static_cast<std::size_t>(n));
  if (format == RowFormat::e4m3_e8m0_32) {
    const float a = magnitude(x, n, 1e-4f);
    if (a < 0) return quantize_e4m3_e8m0(group, to);
    const e8m0 scale = ceil_e8m0(a * (1.0f / e4m3_max));
    const Floats s = hn::Set(F32(), to_float(scale));
    for (std::int64_t i = 0; i < n; i += width) {
      hn::StoreU(hn::TruncateTo(bytes, e4m3_codes(hn::Div(hn::LoadU(F32(), x + i), s))), bytes, to + i);
    }
    return scale.code;
  }
  const bool power_of_two = format == RowFormat::e2m1_e8m0_32;
  const float a = magnitude(x, n, power_of_two ? 6.0f * 0x1p-126f : 6.0f * 0x1p-9f);
  if (a < 0) return power_of_two ? quantize_e2m1_e8m0(group, to) : quantize_e2m1_e4m3(group, to);
  const e8m0 power = ceil_e8m0(a * (1.0f / e2m1_max));
  const e4m3 fine = to_e4m3(a / e2m1_max);
  const Floats s = hn::Set(F32(), power_of_two ? to_float(power) : to_float(fine));
  std::uint8_t code[32];
  for (std::int64_t i = 0; i < n; i += width) {
    hn::StoreU(hn::TruncateTo(bytes, e2m1_codes(hn::Div(hn::LoadU(F32(), x + i), s))), bytes, code + i);
  }
  for (std::int64_t i = 0; i < n / 2; ++i) to[i] = static_cast<std::uint8_t>(code[2 * i] | code[2 * i + 1] << 4);
  return power_of_two ? power.code : fine.code;
}

// values: [padded width], to work in.
void encode_one(ConstValues<1> x, RowFormat format, View<float, 1> values, PackedRowsOut::Place out) {
  const std::int64_t n = x.extent(0);
  for (std::int64_t i = 0; i < n; i += width) hn::StoreU(load(x, i), F32(), &values[i]);
  if (group_size(format) == 1) {
    encode_row(format, values.span().first(static_cast<std::size_t>(n)), out.codes, out.scales);
    return;
  }
  for (std::int64_t i = 0; i < n; i += group_size(format)) {
    out.scales[i / group_size(format)] = encode_group(format, &values[i], out.codes + code_bytes(format, i));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(encode_one);

void encode_rows_cpu(Context& context, const EncodeRowsArgs& a) {
  const std::int64_t dim = a.x.extent(1);
  check(a.row.empty() || a.row.extent(0) == a.x.extent(0), "encode_rows: one place for each row");
  check(a.out.width == dim, "encode_rows: rows as wide as their places");
  check(dim % group_size(a.out.format) == 0, "a packed row has whole groups");
  const Arena::Frame frame(context.scratch);
  const auto values = context.scratch.take<float, 2>({context.pool.threads(), ceil_div<std::int64_t>(dim, 16) * 16});
  context.pool.parallel(a.x.extent(0), 8, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(encode_one)(a.x[r], a.out.format, values[thread], a.out[a.target(r)]);
    }
  });
}

}  // namespace cachalot
#endif
