// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/expert_ffn/expert_ffn.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/moe/expert_ffn/expert_ffn_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/values-inl.h"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// x / (1 + e^-x) for x of any size: e^-|x| can't overflow. NaN stays NaN.
HWY_INLINE Floats silu(Floats x) {
  const F32 f;
  const Floats one = hn::Set(f, 1.0f);
  const Floats e = hn::Exp(f, hn::Neg(hn::Abs(x)));
  return hn::Mul(x, hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(f)), e, one), hn::Add(one, e)));
}

// gate = weight · silu(gate) · up, padded to whole sums; gate and up are rounded to bf16 first where x is bf16.
// Comparisons clamp, not Min and Max, so that NaN stays NaN.
void activate(float* gate, const float* up, std::int64_t padded, float weight, float limit, bool is_bf16) {
  const F32 f;
  for (std::int64_t i = 0; i < padded; i += width) {
    Floats g = hn::LoadU(f, gate + i), u = hn::LoadU(f, up + i);
    if (is_bf16) {
      g = round_bf16(g);
      u = round_bf16(u);
    }
    if (limit > 0) {
      const Floats high = hn::Set(f, limit), low = hn::Set(f, -limit);
      g = hn::IfThenElse(hn::Gt(g, high), high, g);
      u = hn::IfThenElse(hn::Gt(u, high), high, hn::IfThenElse(hn::Lt(u, low), low, u));
    }
    const Floats product = hn::Mul(hn::Set(f, weight), hn::Mul(silu(g), u));
    hn::StoreU(is_bf16 ? round_bf16(product) : product, f, gate + i);
  }
}

void round_row(const float* from, Values<1> to) {
  for (std::int64_t i = 0; i < to.extent(0); i += width) store(hn::LoadU(F32(), from + i), to, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(activate);
HWY_EXPORT(round_row);

namespace {

// A pair (row, k) is the number row · top_k + k.
struct Pass {
  Context& context;
  const ExpertFfnArgs& a;
  View<float, 2> plain, quantized;  // x as a linear of either kind reads it; empty where no expert wants it
  View<float, 2> sum;               // [pairs, padded dim]; empty where out is f32 and takes them itself

  std::int64_t top_k() const { return a.expert.extent(1); }
  bool quantizes(const Weight& w) const { return w.quantized() && a.x.is_bf16(); }

  std::span<const float* const> inputs(const Weight& w, std::span<const std::int64_t> pairs) const {
    const auto x = context.scratch.take<const float*, 1>({static_cast<std::int64_t>(pairs.size())});
    const auto& from = quantizes(w) ? quantized : plain;
    std::ranges::transform(pairs, x.data(), [&](std::int64_t pair) { return from[pair / top_k()].data(); });
    return x.span();
  }

  std::span<float* const> outputs(std::span<const std::int64_t> pairs) const {
    const auto y = context.scratch.take<float*, 1>({static_cast<std::int64_t>(pairs.size())});
    std::ranges::transform(pairs, y.data(), [&](std::int64_t pair) {
      return a.out.is_bf16() ? sum[pair].data() : a.out.as<float>()[pair / top_k()][pair % top_k()].data();
    });
    return y.span();
  }

  // One expert for all the pairs that chose it: its weights are decoded once.
  void run(const ExpertWeights& w, std::span<const std::int64_t> pairs) const {
    check(w.w1.out == w.w3.out && w.w1.out == w.w2.in, "expert_ffn: w1, w2 and w3 agree on the inner width");
    check(w.w1.in == a.x.extent(1) && w.w3.in == a.x.extent(1) && w.w2.out == a.out.extent(2),
          "expert_ffn: an expert is [inter, dim] and [dim, inter]");
    check(!quantizes(w.w2) || w.w2.in % 32 == 0, "expert_ffn: a quantized input has whole groups of 32");
    Arena& scratch = context.scratch;
    ThreadPool& pool = context.pool;
    const Arena::Frame frame(scratch);
    const auto n = static_cast<std::int64_t>(pairs.size()), inter = w.w1.out, padded = padded_width(inter);
    const auto gate = scratch.take<float, 2>({n, padded}), up = scratch.take<float, 2>({n, padded});
    matmul(pool, scratch, {inputs(w.w1, pairs), w.w1, row_pointers(scratch, gate)});
    matmul(pool, scratch, {inputs(w.w3, pairs), w.w3, row_pointers(scratch, up)});
    pool.parallel(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t pair = pairs[static_cast<std::size_t>(i)];
        std::fill(gate[i].data() + inter, gate[i].data() + padded, 0.0f);
        std::fill(up[i].data() + inter, up[i].data() + padded, 0.0f);
        HWY_DYNAMIC_DISPATCH(activate)
        (gate[i].data(), up[i].data(), padded, a.weight[pair / top_k()][pair % top_k()], a.limit, a.x.is_bf16());
      }
    });
    const auto product = quantizes(w.w2) ? load_rows(pool, scratch, ConstValues<2>(gate), RoundTrip::fp8) : gate;
    matmul(pool, scratch, {row_pointers(scratch, View<const float, 2>(product)), w.w2, outputs(pairs)});
  }
};

}  // namespace

void expert_ffn_cpu(Context& context, const ExpertFfnArgs& a) {
  const std::int64_t rows = a.x.extent(0), top_k = a.expert.extent(1), pairs = rows * top_k;
  const auto experts = static_cast<std::int64_t>(a.experts.size());
  if (pairs == 0) return;
  const Arena::Frame frame(context.scratch);
  Pass pass{context, a, {}, {}, {}};

  // The pairs sorted by expert, in the order of rows within one: expert e has those from end[e - 1] to end[e].
  const auto end = context.scratch.take<std::int64_t, 1>({experts});
  const auto sorted = context.scratch.take<std::int64_t, 1>({pairs});
  std::ranges::fill(end.span(), 0);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::int32_t e = a.expert[p / top_k][p % top_k];
    check(e >= 0 && e < experts, "expert_ffn: an expert that is there");
    ++end[e];
  }
  std::exclusive_scan(end.span().begin(), end.span().end(), end.span().begin(), std::int64_t{0});
  for (std::int64_t p = 0; p < pairs; ++p) sorted[end[a.expert[p / top_k][p % top_k]]++] = p;

  for (const std::int64_t p : sorted.span()) {
    const ExpertWeights& w = a.experts[static_cast<std::size_t>(a.expert[p / top_k][p % top_k])];
    for (const Weight* m : {&w.w1, &w.w3}) {
      auto& x = pass.quantizes(*m) ? pass.quantized : pass.plain;
      const auto trip = pass.quantizes(*m) ? RoundTrip::fp8 : RoundTrip::none;
      if (x.empty()) x = load_rows(context.pool, context.scratch, a.x, trip);
    }
  }
  if (a.out.is_bf16()) pass.sum = context.scratch.take<float, 2>({pairs, padded_width(a.out.extent(2))});

  std::int64_t begin = 0;
  for (std::int64_t e = 0; e < experts; begin = end[e++]) {
    if (end[e] > begin) pass.run(a.experts[static_cast<std::size_t>(e)], sorted.part(begin, end[e] - begin).span());
  }
  if (!a.out.is_bf16()) return;
  context.pool.parallel(pairs, 4, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t p = first; p < last; ++p)
      HWY_DYNAMIC_DISPATCH(round_row)(pass.sum[p].data(), a.out[p / top_k][p % top_k]);
  });
}

}  // namespace cachalot
#endif
