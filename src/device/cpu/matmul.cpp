// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/matmul.h"

#include <algorithm>

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/matmul.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

constexpr std::int64_t tile_outs = 4;     // weight rows decoded together
constexpr std::int64_t tile_depth = 256;  // values of k decoded at once: 4 KiB of f32, which stay in the first cache

// rows × outs sums over one depth of k. `lanes` holds each sum's lanes between depths, [rows][tile_outs][16].
template <int rows, int outs>
HWY_INLINE void add_tile(const float* const* x, std::int64_t first, const float* weight, std::int64_t depth,
                         float* lanes) {
  Sum sum[rows][outs];
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < outs; ++o) sum[r][o] = load_sum(lanes + (r * tile_outs + o) * sum_lanes);
  }
  for (std::int64_t k = 0; k < depth; k += sum_lanes) {
    for (int r = 0; r < rows; ++r) {
      for (int o = 0; o < outs; ++o) add_products(sum[r][o], x[r] + first + k, weight + o * tile_depth + k);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < outs; ++o) store_sum(sum[r][o], lanes + (r * tile_outs + o) * sum_lanes);
  }
}

// Outputs first_out … of every row. lanes: [rows, tile_outs, 16].
void tile(const MatmulArgs& a, std::int64_t first_out, float* lanes) {
  const Weight& w = a.weight;
  const auto rows = static_cast<std::int64_t>(a.x.size());
  const std::int64_t outs = std::min(tile_outs, w.out - first_out);
  HWY_ALIGN float weight[tile_outs * tile_depth];
  std::fill_n(lanes, rows * tile_outs * sum_lanes, 0.0f);
  for (std::int64_t first = 0; first < w.in; first += tile_depth) {
    const std::int64_t count = std::min(tile_depth, w.in - first);
    const std::int64_t depth = (count + sum_lanes - 1) / sum_lanes * sum_lanes;
    for (std::int64_t o = 0; o < tile_outs; ++o) {
      decode_weight(w, first_out + std::min(o, outs - 1), first, count, weight + o * tile_depth);
    }
    const float* const* x = a.x.data();
    std::int64_t r = 0;
    for (; r + 3 <= rows; r += 3) {
      float* at = lanes + r * tile_outs * sum_lanes;
      add_tile<3, 2>(x + r, first, weight, depth, at);
      add_tile<3, 2>(x + r, first, weight + 2 * tile_depth, depth, at + 2 * sum_lanes);
    }
    for (; r < rows; ++r) add_tile<1, 4>(x + r, first, weight, depth, lanes + r * tile_outs * sum_lanes);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < outs; ++o)
      a.out[static_cast<std::size_t>(r)][first_out + o] = tree(lanes + (r * tile_outs + o) * sum_lanes);
  }
}

void matmul_simd(ThreadPool& pool, Arena& scratch, const MatmulArgs& a) {
  const Arena::Frame frame(scratch);
  const std::int64_t tiles = (a.weight.out + tile_outs - 1) / tile_outs;
  const std::int64_t grain = std::clamp<std::int64_t>(tiles / (4 * pool.threads()), 1, 16);
  const auto lanes =
      scratch.take<float, 2>({pool.threads(), static_cast<std::int64_t>(a.x.size()) * tile_outs * sum_lanes});
  pool.parallel(tiles, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t t = begin; t < end; ++t) tile(a, t * tile_outs, lanes[thread].data());
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(matmul_simd);

void matmul(ThreadPool& pool, Arena& scratch, const MatmulArgs& args) {
  if (args.x.empty() || args.weight.out == 0) return;
  HWY_DYNAMIC_DISPATCH(matmul_simd)(pool, scratch, args);
}

}  // namespace cachalot
#endif
