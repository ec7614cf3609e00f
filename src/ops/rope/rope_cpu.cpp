// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/ids.h"
#include "ops/rope/rope.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rope/rope_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// (real + i imaginary) · (cos + i sin); no product is fused with the sum, as in the released code.
HWY_INLINE void turn(Floats& real, Floats& imaginary, Floats cos, Floats sin) {
  const Floats r = hn::Sub(hn::Mul(real, cos), hn::Mul(imaginary, sin));
  imaginary = hn::Add(hn::Mul(real, sin), hn::Mul(imaginary, cos));
  real = r;
}

// The next `width` pairs, in place.
HWY_INLINE void turn(float* x, Floats cos, Floats sin) {
  Floats real;
  Floats imaginary;
  hn::LoadInterleaved2(F32(), x, real, imaginary);
  turn(real, imaginary, cos, sin);
  hn::StoreInterleaved2(real, imaginary, F32(), x);
}
// Two bf16 neighbours are one word, the first in its low half.
HWY_INLINE void turn(bf16* x, Floats cos, Floats sin) {
  const U32 u;
  HWY_ALIGN std::uint32_t words[width];
  std::memcpy(words, x, sizeof words);
  const Words both = hn::Load(u, words);
  Floats real = hn::BitCast(F32(), hn::ShiftLeft<16>(both));
  Floats imaginary = hn::BitCast(F32(), hn::And(both, hn::Set(u, 0xFFFF0000u)));
  turn(real, imaginary, cos, sin);
  hn::Store(hn::Or(bf16_bits(real), hn::ShiftLeft<16>(bf16_bits(imaginary))), u, words);
  std::memcpy(x, words, sizeof words);
}

template <class T>
HWY_INLINE void turn_head(T* x, std::int64_t pairs, const float* cos, const float* sin) {
  std::int64_t i = 0;
  for (; i + width <= pairs; i += width) {
    turn(x + 2 * i, hn::LoadU(F32(), cos + i), hn::LoadU(F32(), sin + i));
  }
  if (i == pairs) return;
  T rest[2 * width] = {};
  std::copy(x + 2 * i, x + 2 * pairs, rest);
  turn(rest, hn::LoadU(F32(), cos + i), hn::LoadU(F32(), sin + i));
  std::copy_n(rest, 2 * (pairs - i), x + 2 * i);
}

// Every head of one row. cos, sin: [padded pairs].
void turn_row(Values<2> x, std::int64_t pairs, const float* cos, const float* sin) {
  for (std::int64_t head = 0; head < x.extent(0); ++head) {
    const auto last = x[head].part(x.extent(1) - 2 * pairs, 2 * pairs);
    if (last.is_bf16()) {
      turn_head(static_cast<bf16*>(last.data()), pairs, cos, sin);
    } else {
      turn_head(static_cast<float*>(last.data()), pairs, cos, sin);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(turn_row);

void rope_cpu(Context& context, const RopeArgs& a) {
  const std::int64_t pairs = a.frequency.extent(0);
  check(a.x.extent(2) >= 2 * pairs && a.position.extent(0) == a.x.extent(0), "rope: shapes fit");
  const std::int64_t padded = ceil_div<std::int64_t>(pairs, 16) * 16;
  const Arena::Frame frame(context.scratch);
  const auto table = context.scratch.take<float, 3>({context.pool.threads(), 2, padded});
  std::fill_n(table.data(), table.size(), 0.0f);
  context.pool.parallel(a.x.extent(0), 4, [&](std::int64_t begin, std::int64_t end, int thread) {
    const auto cos = table[thread][0];
    const auto sin = table[thread][1];
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const Rotation by = rotation(a.position[row], a.frequency[i]);
        cos[i] = by.cos;
        sin[i] = a.inverse ? -by.sin : by.sin;
      }
      HWY_DYNAMIC_DISPATCH(turn_row)(a.x[row], pairs, cos.data(), sin.data());
    }
  });
}

}  // namespace cachalot
#endif
