// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/indexer/indexer.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/ids.h"
#include "ops/attention/indexer/indexer_cpu.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/indexer/indexer_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/outer-inl.h"
#include "device/cpu/packed-inl.h"
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

void decode_queries(const IndexerArgs& a, std::int64_t row, View<float, 1> q, View<float, 1> weight) {
  for (std::int64_t h = 0; h < weight.extent(0); ++h) {
    decode_packed(a.q.format, a.q[row * weight.extent(0) + h], a.q.width, &q[h * a.q.width], a.q.width);
    weight[h] = a.weight[row].load(h) * a.weight_scale;
  }
}

#if HWY_TARGET != HWY_SCALAR  // which has no registers of bytes
// [16 keys, 16 bytes] turned round: four times, the upper half of the rows goes between the lower half's bytes.
template <class D, class V>
HWY_INLINE void transpose_bytes(D d, V* rows) {
  for (int round = 0; round < 4; ++round) {
    V next[16];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + 8]);
      next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 8]);
    }
    std::copy_n(next, 16, rows);
  }
}

// Values 32 g … of the tile's keys, for e2m1 with a ue8m0 scale per 32: 16 bytes of each key.
HWY_INLINE void decode_group(const PackedRows::Place* key, std::int64_t g, float* to) {
  const hn::CappedTag<std::uint8_t, 16> bytes;
  HWY_ALIGN std::uint8_t code[16][tile_keys];
  HWY_ALIGN float scale[tile_keys];
  for (std::int64_t half = 0; half < tile_keys; half += 16) {
    hn::Vec<decltype(bytes)> row[16];
    for (std::int64_t i = 0; i < 16; ++i) row[i] = hn::LoadU(bytes, key[half + i].codes + 16 * g);
    transpose_bytes(bytes, row);
    for (std::int64_t i = 0; i < 16; ++i) hn::StoreU(row[i], bytes, code[i] + half);
  }
  for (std::int64_t i = 0; i < tile_keys; ++i) scale[i] = to_float(e8m0{key[i].scales[g]});
  for (std::int64_t i = 0; i < tile_keys; i += width) {
    const Floats s = hn::Load(F32(), scale + i);
    for (std::int64_t b = 0; b < 16; ++b) {
      const Words both = load_bytes(code[b] + i);
      const Floats even = decode_e2m1(hn::And(both, hn::Set(U32(), 15u)));
      const Floats odd = decode_e2m1(hn::ShiftRight<4>(both));
      hn::StoreU(hn::Mul(even, s), F32(), to + (32 * g + 2 * b) * tile_keys + i);
      hn::StoreU(hn::Mul(odd, s), F32(), to + (32 * g + 2 * b + 1) * tile_keys + i);
    }
  }
}
#endif

// Keys first … of a sequence as columns of `to`, [width, tile_keys]; zeros where there is no key. one: [width], to work
// in.
void decode_keys(const PagedRows& keys, std::int64_t sequence, std::int64_t first, std::int64_t dim, float* to,
                 float* one) {
  const std::int64_t there = std::clamp<std::int64_t>(keys.readable[sequence] - first, 0, tile_keys);
  const bool by_group = width > 1 && keys.pool.format == RowFormat::e2m1_e8m0_32 && there > 0;
#if HWY_TARGET != HWY_SCALAR
  if (by_group) {
    PackedRows::Place key[tile_keys];
    for (std::int64_t i = 0; i < tile_keys; ++i) {
      key[i] = keys.pool[keys.row_of(sequence, first + std::min(i, there - 1))];
    }
    for (std::int64_t g = 0; g < dim / 32; ++g) decode_group(key, g, to);
  }
#endif
  for (std::int64_t i = 0; i < there && !by_group; ++i) {
    decode_packed(keys.pool.format, keys.pool[keys.row_of(sequence, first + i)], dim, one, dim);
    for (std::int64_t k = 0; k < dim; ++k) to[k * tile_keys + i] = one[k];
  }
  for (std::int64_t k = 0; k < dim && there < tile_keys; ++k) {
    std::fill(to + k * tile_keys + there, to + (k + 1) * tile_keys, 0.0f);
  }
}

// Adds weight · relu(q · key) of `heads` heads to the scores of outer_columns keys.
template <int heads>
HWY_INLINE void add_heads(const float* q, const float* weight, std::int64_t dim, const float* keys, Floats* score) {
  const F32 f;
  Outer<heads> dot;
  for (int h = 0; h < heads; ++h) dot.sum[h][0] = dot.sum[h][1] = hn::Zero(f);
  add_outer(dot, q, dim, keys, tile_keys, dim);
  for (int h = 0; h < heads; ++h) {
    const Floats w = hn::Set(f, weight[h]);
    for (int c = 0; c < 2; ++c) {
      const Floats d = dot.sum[h][c];
      const Floats positive = hn::IfThenZeroElse(hn::Lt(d, hn::Zero(f)), d);  // NaN stays NaN
      score[c] = hn::Add(score[c], hn::Mul(w, positive));
    }
  }
}

// Scores of one row's first `count` keys of a tile.
void score_tile(View<const float, 1> q, View<const float, 1> weight, std::int64_t dim, const float* keys, float* to,
                std::int64_t count) {
  const std::int64_t heads = weight.extent(0);
  HWY_ALIGN float all[tile_keys];
  for (std::int64_t first = 0; first < count; first += outer_columns) {
    Floats score[2] = {hn::Zero(F32()), hn::Zero(F32())};
    std::int64_t h = 0;
    for (; h + 4 <= heads; h += 4) add_heads<4>(&q[h * dim], &weight[h], dim, keys + first, score);
    for (; h < heads; ++h) add_heads<1>(&q[h * dim], &weight[h], dim, keys + first, score);
    hn::Store(score[0], F32(), all + first);
    hn::Store(score[1], F32(), all + first + width);
  }
  std::copy_n(all, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {
namespace {

HWY_EXPORT(decode_queries);
HWY_EXPORT(decode_keys);
HWY_EXPORT(score_tile);

// Neighbouring rows of one sequence, which share its decoded keys.
struct Run {
  std::int64_t first;
  std::int64_t rows;
  std::int64_t first_tile;  // in the band's count of tiles
};

// Rows first … of the band; runs and keys are room to work in.
void score_band(Context& context, const IndexerArgs& a, std::int64_t first, std::int64_t rows, const IndexQueries& to,
                View<Run, 1> runs, View<float, 2> keys) {
  const std::int64_t dim = a.q.width;
  context.pool.parallel(rows, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(decode_queries)(a, first + i, to.q[i], to.weight[i]);
      const auto score = a.score[first + i].span();
      std::fill(score.begin() + a.visible[first + i], score.end(), -std::numeric_limits<float>::infinity());
    }
  });
  std::int64_t count = 0;
  std::int64_t tiles = 0;
  for (std::int64_t i = 0; i < rows;) {
    Run run{i, 0, tiles};
    std::int64_t visible = 0;
    for (; i < rows && a.sequence[first + i] == a.sequence[first + run.first]; ++i, ++run.rows) {
      visible = std::max(visible, a.visible[first + i]);
    }
    tiles += ceil_div(visible, tile_keys);
    runs[count++] = run;
  }
  const std::span<const Run> all(runs.data(), static_cast<std::size_t>(count));
  const std::int64_t grain = std::clamp<std::int64_t>(tiles / (4 * context.pool.threads()), 1, 64);
  context.pool.parallel(tiles, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
    float* decoded = keys[thread].data();
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const Run& run = *(std::ranges::upper_bound(all, tile, {}, &Run::first_tile) - 1);
      const std::int64_t group = (tile - run.first_tile) * tile_keys;
      HWY_DYNAMIC_DISPATCH(decode_keys)
      (a.keys, a.sequence[first + run.first], group, dim, decoded, decoded + dim * tile_keys);
      for (std::int64_t i = run.first; i < run.first + run.rows; ++i) {
        const std::int64_t seen = std::min(a.visible[first + i] - group, tile_keys);
        if (seen <= 0) continue;
        HWY_DYNAMIC_DISPATCH(score_tile)(to.q[i], to.weight[i], dim, decoded, &a.score[first + i][group], seen);
      }
    }
  });
}

}  // namespace

void indexer_cpu(Context& context, const IndexerArgs& a) {
  const std::int64_t rows = a.score.extent(0);
  const std::int64_t heads = a.weight.extent(1);
  check(a.q.rows == rows * heads, "indexer: one query for each row and head");
  for (std::int64_t row = 0; row < rows; ++row) {
    check(a.visible[row] >= 0 && a.visible[row] <= a.score.extent(1),
          "indexer: a place for the score of every visible group");
    check(a.keys.readable[a.sequence[row]] == 0 || a.keys.pool.width == a.q.width,
          "indexer: keys are as wide as queries");
  }
  const Arena::Frame frame(context.scratch);
  const std::int64_t band = std::min(rows, band_rows);
  const IndexQueries queries{context.scratch.take<float, 2>({band, heads * a.q.width}),
                             context.scratch.take<float, 2>({band, heads})};
  const auto runs = context.scratch.take<Run, 1>({band});
  const auto keys = context.scratch.take<float, 2>({context.pool.threads(), a.q.width * (tile_keys + 1)});
  for (std::int64_t first = 0; first < rows; first += band) {
    score_band(context, a, first, std::min(band, rows - first), queries, runs, keys);
  }
}

}  // namespace cachalot
#endif
