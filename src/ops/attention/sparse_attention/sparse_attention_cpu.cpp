// SPDX-License-Identifier: Apache-2.0
// Many rows: each thread takes whole rows and decodes a block of their slots at a time. Few rows: all threads decode a
// row's slots, then each takes some of its heads. The arithmetic, and so the bits, are the same.
#include "ops/attention/sparse_attention/sparse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/ids.h"
#include "ops/attention/sparse_attention/sparse_attention_cpu.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/sparse_attention/sparse_attention_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/exp-inl.h"
#include "device/cpu/outer-inl.h"
#include "device/cpu/packed-inl.h"
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// Entries of a list as rows of f32, zeros where nothing is.
void decode_slots(const SparseAttentionArgs& a, View<const std::int64_t, 1> list, float* to, std::int64_t stride) {
  for (std::int64_t j = 0; j < list.extent(0); ++j, to += stride) {
    if (list[j] < 0) {
      std::fill_n(to, stride, 0.0f);
    } else {
      const auto [rows, row] = a.source(list[j]);
      decode_packed(rows.format, rows[row], a.q.extent(2), to, stride);
    }
  }
}

HWY_INLINE void begin_heads(const AttentionRow& r, ConstValues<2> q, std::int64_t first, std::int64_t last) {
  for (std::int64_t h = first; h < last; ++h) {
    const auto from = q[h];
    for (std::int64_t i = 0; i < r.q.extent(1); i += width) {
      hn::StoreU(load(from, i), F32(), &r.q[h][i]);
      hn::StoreU(hn::Zero(F32()), F32(), &r.sum[h][i]);
    }
    r.top[h] = -1e30f;
    r.weights[h] = 0;
  }
}

// The four numbers before the last two steps of the tree.
template <class D>
HWY_INLINE void store_quarter(D d, const Sum& s, float* to) {
#if HWY_TARGET == HWY_SCALAR
  HWY_ALIGN float lanes[sum_lanes];
  for (std::int64_t i = 0; i < sum_lanes; ++i) hn::Store(s.part[i], d, lanes + i);
  for (int i = 0; i < 4; ++i) to[i] = (lanes[i] + lanes[i + 8]) + (lanes[i + 4] + lanes[i + 12]);
#else
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(hn::Add(hn::Add(s.part[0], s.part[2]), hn::Add(s.part[1], s.part[3])), d, to);
  } else if constexpr (hn::MaxLanes(D()) == 8) {
    const hn::Half<D> four;
    const auto v = hn::Add(s.part[0], s.part[1]);
    hn::StoreU(hn::Add(hn::LowerHalf(four, v), hn::UpperHalf(four, v)), four, to);
  } else {
    const hn::Half<D> eight;
    const hn::Half<hn::Half<D> > four;
    const auto v = hn::Add(hn::LowerHalf(eight, s.part[0]), hn::UpperHalf(eight, s.part[0]));
    hn::StoreU(hn::Add(hn::LowerHalf(four, v), hn::UpperHalf(four, v)), four, to);
  }
#endif
}

// heads × slots dot products, as quarters: [heads, slot_group, 4].
template <int heads, int slots>
HWY_INLINE void add_scores(const float* q, std::int64_t dim, const float* kv, std::int64_t stride, float* quarters) {
  Sum sum[heads][slots];
  for (int h = 0; h < heads; ++h) {
    for (int j = 0; j < slots; ++j) sum[h][j] = zero_sum();
  }
  for (std::int64_t k = 0; k < dim; k += sum_lanes) {
    for (std::int64_t i = 0; i < parts; ++i) {
      Floats b[slots];
      for (int j = 0; j < slots; ++j) b[j] = hn::LoadU(F32(), kv + j * stride + k + i * width);
      for (int h = 0; h < heads; ++h) {
        const Floats a = hn::LoadU(F32(), q + h * dim + k + i * width);
        for (int j = 0; j < slots; ++j) sum[h][j].part[i] = hn::MulAdd(a, b[j], sum[h][j].part[i]);
      }
    }
  }
  for (int h = 0; h < heads; ++h) {
    for (int j = 0; j < slots; ++j) store_quarter(F32(), sum[h][j], quarters + (h * slot_group + j) * 4);
  }
}

// Scores of some heads with one slot group.
template <int heads, int slots>
HWY_INLINE void score_heads(const AttentionRow& r, std::int64_t head, const float* kv, std::int64_t stride,
                            std::int64_t first) {
  HWY_ALIGN float quarters[heads * slot_group * 4];
  for (std::int64_t j = 0; j < slot_group; j += slots) {
    add_scores<heads, slots>(r.q[head].data(), r.q.extent(1), kv + j * stride, stride, quarters + j * 4);
  }
  const hn::CappedTag<float, static_cast<std::size_t>(slot_group)> d;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < slot_group; j += static_cast<std::int64_t>(hn::MaxLanes(d))) {
      hn::Vec<decltype(d)> a0, a1, a2, a3;
      hn::LoadInterleaved4(d, quarters + (h * slot_group + j) * 4, a0, a1, a2, a3);
      hn::StoreU(hn::Add(hn::Add(a0, a2), hn::Add(a1, a3)), d, &r.probability[head + h][first + j]);
    }
  }
}

// Scores to probabilities: the new maximum, and this block's share of the weights.
HWY_INLINE void weigh(const AttentionRow& r, std::int64_t h, View<const std::int64_t, 1> slot, float scale,
                      bool round_probabilities) {
  const F32 f;
  HWY_ALIGN float listed[block_entries];
  const std::int64_t n = ceil_div(slot.extent(0), sum_lanes) * sum_lanes;
  for (std::int64_t j = 0; j < n; ++j) listed[j] = j < slot.extent(0) && slot[j] >= 0 ? 1.0f : 0.0f;
  float* p = r.probability[h].data();
  const float old_top = r.top[h];
  Floats highest = hn::Set(f, old_top);
  for (std::int64_t j = 0; j < n; j += width) {
    const auto there = hn::Gt(hn::Load(f, listed + j), hn::Zero(f));
    const Floats score = hn::Mul(hn::LoadU(f, p + j), hn::Set(f, scale));
    const Floats s = hn::IfThenElse(there, score, hn::Set(f, -std::numeric_limits<float>::infinity()));
    highest = hn::IfThenElse(hn::Lt(highest, s), s, highest);  // a NaN is never larger
    hn::StoreU(s, f, p + j);
  }
  const float top = hn::GetLane(hn::MaxOfLanes(f, highest));
  Sum sum = zero_sum();
  for (std::int64_t j = 0; j < n; j += sum_lanes) {
    for (std::int64_t i = 0; i < parts; ++i) {
      float* at = p + j + i * width;
      const Floats e = exp_f32(hn::Sub(hn::LoadU(f, at), hn::Set(f, top)));
      sum.part[i] = hn::Add(sum.part[i], e);
      hn::StoreU(round_probabilities ? round_bf16(e) : e, f, at);
    }
  }
  r.top[h] = top;
  r.shrink[h] = static_cast<float>(std::exp(static_cast<double>(old_top) - static_cast<double>(top)));
  r.weights[h] = r.weights[h] * r.shrink[h] + total(sum);
}

// Adds the block's values to columns d … of some heads' sums.
template <int heads>
HWY_INLINE void add_values(const AttentionRow& r, std::int64_t head, const DecodedSlots& slots, std::int64_t n,
                           std::int64_t d) {
  const F32 f;
  Outer<heads> block;
  for (int h = 0; h < heads; ++h) block.sum[h][0] = block.sum[h][1] = hn::Zero(f);
  add_outer(block, r.probability[head].data(), block_entries, slots.kv + d, slots.stride, n);
  for (int h = 0; h < heads; ++h) {
    const Floats shrink = hn::Set(f, r.shrink[head + h]);
    for (int c = 0; c < 2; ++c) {
      float* sum = &r.sum[head + h][d + c * width];
      hn::StoreU(hn::Add(hn::Mul(hn::LoadU(f, sum), shrink), block.sum[h][c]), f, sum);
    }
  }
}

// One block of the list, at most block_entries, for heads first … last - 1. The rows of `slots` behind it, up to a
// slot group, can be read.
HWY_INLINE void attend_block(const AttentionRow& r, std::int64_t first, std::int64_t last,
                             View<const std::int64_t, 1> slot, const DecodedSlots& slots, float scale,
                             bool round_probabilities) {
  constexpr int tile_heads = width == 16 ? 4 : width == 8 ? 3 : 2;
  constexpr int tile_slots = width == 16 ? 4 : 2;
  for (std::int64_t j = 0; j < slot.extent(0); j += slot_group) {
    const float* kv = slots.kv + j * slots.stride;
    std::int64_t h = first;
    for (; h + tile_heads <= last; h += tile_heads) score_heads<tile_heads, tile_slots>(r, h, kv, slots.stride, j);
    for (; h < last; ++h) score_heads<1, 4>(r, h, kv, slots.stride, j);
  }
  for (std::int64_t h = first; h < last; ++h) weigh(r, h, slot, scale, round_probabilities);
  for (std::int64_t d = 0; d < r.sum.extent(1); d += outer_columns) {
    std::int64_t h = first;
    for (; h + 4 <= last; h += 4) add_values<4>(r, h, slots, slot.extent(0), d);
    for (; h < last; ++h) add_values<1>(r, h, slots, slot.extent(0), d);
  }
}

HWY_INLINE void finish_heads(const AttentionRow& r, View<const float, 1> sink, Values<2> out, std::int64_t first,
                             std::int64_t last) {
  for (std::int64_t h = first; h < last; ++h) {
    const double top = static_cast<double>(r.top[h]);
    // Infinite for a row that lists nothing, and 0 / infinity is 0; but 0 / 0 where the sink is -inf as well.
    const double weights = static_cast<double>(r.weights[h]) + std::exp(static_cast<double>(sink[h]) - top);
    const Floats divisor = hn::Set(F32(), weights == 0 ? 1.0f : static_cast<float>(weights));
    const auto to = out[h];
    for (std::int64_t i = 0; i < to.extent(0); i += width) {
      store(hn::Div(hn::LoadU(F32(), &r.sum[h][i]), divisor), to, i);
    }
  }
}

// Heads first … last - 1 of a row. kv: the whole list decoded, or one block's room where `decode` is set.
void attend(const SparseAttentionArgs& a, std::int64_t row, View<const std::int64_t, 1> slot, const AttentionRow& r,
            std::int64_t first, std::int64_t last, View<float, 2> kv, bool decode) {
  begin_heads(r, a.q[row], first, last);
  for (std::int64_t j = 0; j < slot.extent(0); j += block_entries) {
    std::int64_t n = std::min(block_entries, slot.extent(0) - j);
    while (n > 0 && slot[j + n - 1] < 0) --n;
    if (n == 0) continue;  // a block that lists nothing changes nothing
    const auto block = slot.part(j, n);
    if (decode) decode_slots(a, block, kv.data(), kv.extent(1));
    const DecodedSlots slots{decode ? kv.data() : kv[j].data(), kv.extent(1)};
    attend_block(r, first, last, block, slots, a.scale, a.round_probabilities);
  }
  finish_heads(r, a.sink, a.out[row], first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {
namespace {

HWY_EXPORT(decode_slots);
HWY_EXPORT(attend);

AttentionRow take_row(Arena& scratch, std::int64_t heads, std::int64_t padded) {
  return {scratch.take<float, 2>({heads, padded}),
          scratch.take<float, 2>({heads, padded}),
          scratch.take<float, 2>({heads, block_entries}),
          scratch.take<float, 1>({heads}),
          scratch.take<float, 1>({heads}),
          scratch.take<float, 1>({heads})};
}

// Room for decoded entries; what is behind the last entry is read with it, and left out of every sum.
View<float, 2> take_slots(Arena& scratch, std::int64_t entries, std::int64_t padded) {
  const auto kv = scratch.take<float, 2>({ceil_div(entries, slot_group) * slot_group, padded + 16});
  std::fill_n(kv.data(), kv.size(), 0.0f);
  return kv;
}

void few_rows(Context& context, const SparseAttentionArgs& a, std::int64_t padded) {
  const std::int64_t heads = a.q.extent(1);
  const AttentionRow state = take_row(context.scratch, heads, padded);
  const auto kv = take_slots(context.scratch, a.listed(), padded);
  const auto slot = context.scratch.take<std::int64_t, 1>({a.listed()});
  const std::int64_t share = ceil_div<std::int64_t>(heads, context.pool.threads());
  for (std::int64_t row = 0; row < a.q.extent(0); ++row) {
    a.join(row, slot);
    context.pool.parallel(slot.extent(0), 16, [&](std::int64_t begin, std::int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(decode_slots)(a, slot.part(begin, end - begin), kv[begin].data(), kv.extent(1));
    });
    context.pool.parallel(heads, ceil_div<std::int64_t>(share, 4) * 4, [&](std::int64_t begin, std::int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(attend)(a, row, slot, state, begin, end, kv, false);
    });
  }
}

}  // namespace

void sparse_attention_cpu(Context& context, const SparseAttentionArgs& a) {
  const std::int64_t rows = a.q.extent(0);
  const std::int64_t heads = a.q.extent(1);
  check(a.out.shape() == a.q.shape() && a.sink.extent(0) == heads, "sparse_attention: shapes fit");
  if (rows == 0) return;
  const std::int64_t padded = ceil_div<std::int64_t>(a.q.extent(2), 32) * 32;
  const Arena::Frame frame(context.scratch);
  if (rows < context.pool.threads()) return few_rows(context, a, padded);
  const auto state = context.scratch.take<AttentionRow, 1>({context.pool.threads()});
  const auto kv = context.scratch.take<View<float, 2>, 1>({context.pool.threads()});
  const auto slot = context.scratch.take<std::int64_t, 2>({context.pool.threads(), a.listed()});
  for (int t = 0; t < context.pool.threads(); ++t) {
    state[t] = take_row(context.scratch, heads, padded);
    kv[t] = take_slots(context.scratch, block_entries, padded);
  }
  context.pool.parallel(rows, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t row = begin; row < end; ++row) {
      a.join(row, slot[thread]);
      HWY_DYNAMIC_DISPATCH(attend)(a, row, slot[thread], state[thread], 0, heads, kv[thread], true);
    }
  });
}

}  // namespace cachalot
#endif
