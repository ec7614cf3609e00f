// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/gate/gate.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/engram/gate/gate_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// How alike h and its key are: the dot product of both normed, over √dim.
float similarity(ConstValues<1> h, ConstValues<1> key, ConstValues<1> q_weight, ConstValues<1> k_weight, float eps) {
  const std::int64_t dim = h.extent(0);
  Sum dot = zero_sum(), h_squares = zero_sum(), key_squares = zero_sum();
  for (std::int64_t k = 0; k < dim; k += sum_lanes) {
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t at = k + i * width;
      const Floats x = load(h, at), y = load(key, at);
      const Floats weight = hn::Mul(load(q_weight, at), load(k_weight, at));
      dot.part[i] = hn::MulAdd(hn::Mul(x, weight), y, dot.part[i]);
      h_squares.part[i] = hn::MulAdd(x, x, h_squares.part[i]);
      key_squares.part[i] = hn::MulAdd(y, y, key_squares.part[i]);
    }
  }
  const auto n = static_cast<float>(dim);
  const auto inverse_root = [&](const Sum& squares) { return 1 / std::sqrt(total(squares) / n + eps); };
  return total(dot) * inverse_root(h_squares) * inverse_root(key_squares) * (1 / std::sqrt(n));
}

// out = h + gate · value. out may be h.
void add_gated(ConstValues<1> h, float gate, ConstValues<1> value, Values<1> out) {
  const Floats g = hn::Set(F32(), gate);
  for (std::int64_t d = 0; d < h.extent(0); d += width) store(hn::Add(load(h, d), hn::Mul(g, load(value, d))), out, d);
}

void copy_row(ConstValues<1> from, Values<1> to) {
  for (std::int64_t d = 0; d < from.extent(0); d += width) store(load(from, d), to, d);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {
namespace {

float gate_of(float similarity) {
  const double root = std::sqrt(static_cast<double>(std::max(std::abs(similarity), 1e-6f)));
  const double z = similarity > 0 ? root : similarity < 0 ? -root : similarity;  // sign(0) is 0, NaN stays NaN
  return static_cast<float>(1 / (1 + std::exp(-z)));
}

}  // namespace

HWY_EXPORT(similarity);
HWY_EXPORT(add_gated);
HWY_EXPORT(copy_row);

void engram_gate_cpu(Context& context, const EngramGateArgs& a) {
  const std::int64_t copies = a.h.extent(1), dim = a.h.extent(2);
  check(a.kv.extent(1) == (copies + 1) * dim && a.out.shape() == a.h.shape(), "engram_gate: shapes fit");
  context.pool.parallel(a.h.extent(0) * copies, 2, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t r = i / copies, c = i % copies;
      const auto h = a.h[r][c], key = a.kv[r].part(c * dim, dim), value = a.kv[r].part(copies * dim, dim);
      if (a.image[r] != 0) {
        a.gate[r][c] = 0;
        HWY_DYNAMIC_DISPATCH(copy_row)(h, a.out[r][c]);
        continue;
      }
      a.gate[r][c] = gate_of(HWY_DYNAMIC_DISPATCH(similarity)(h, key, a.q_weight[c], a.k_weight[c], a.eps));
      HWY_DYNAMIC_DISPATCH(add_gated)(h, a.gate[r][c], value, a.out[r][c]);
    }
  });
}

}  // namespace cachalot
#endif
