// SPDX-License-Identifier: Apache-2.0
#include "bench/roofs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/roofs.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

constexpr int chains = 12;  // independent sums: more than latency times units, and all in registers

// n is a multiple of 256.
float read_stream(const float* from, std::int64_t n) {
  const F32 f;
  Floats sum[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
  for (std::int64_t i = 0; i < n; i += 4 * width) {
    for (int c = 0; c < 4; ++c) sum[c] = hn::Add(sum[c], hn::LoadU(f, from + i + c * width));
  }
  return hn::GetLane(hn::SumOfLanes(f, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]))));
}

void copy_stream(const float* from, float* to, std::int64_t n) {
  const F32 f;
  for (std::int64_t i = 0; i < n; i += width) hn::Stream(hn::LoadU(f, from + i), f, to + i);
  hwy::FlushStream();
}

// `steps` fused multiply-adds a chain. Each sum stays near 1.
float multiply_add(std::int64_t steps, float seed) {
  const F32 f;
  const Floats a = hn::Set(f, 0.5f + seed);
  const Floats b = hn::Set(f, 0.5f);
  Floats sum[chains];
  for (int c = 0; c < chains; ++c) sum[c] = hn::Set(f, static_cast<float>(c));
  for (std::int64_t i = 0; i < steps; ++i) {
    for (int c = 0; c < chains; ++c) sum[c] = hn::MulAdd(sum[c], a, b);
  }
  for (int c = 1; c < chains; ++c) sum[0] = hn::Add(sum[0], sum[c]);
  return hn::GetLane(hn::SumOfLanes(f, sum[0]));
}

std::int64_t operations_a_step() { return 2 * chains * width; }

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(read_stream);
HWY_EXPORT(copy_stream);
HWY_EXPORT(multiply_add);
HWY_EXPORT(operations_a_step);

namespace {

constexpr std::int64_t piece = 1 << 18;  // floats a thread takes at a time

template <class Run>
double best_seconds(int trials, Run run) {
  using std::chrono::steady_clock;
  double best = 1e30;
  for (int t = 0; t < trials; ++t) {
    const auto start = steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

RoofMeter::RoofMeter(std::int64_t bytes) {
  const std::int64_t n = std::max<std::int64_t>(1, bytes / 4 / piece) * piece;
  from_ = arena_.take<float, 1>({n});
  to_ = arena_.take<float, 1>({n});
  for (std::int64_t i = 0; i < n; ++i) from_[i] = static_cast<float>(i & 0xFFFF);
  std::ranges::fill(to_.span(), 0.0f);
}

Roofs RoofMeter::measure(ThreadPool& pool, int trials) {
  const std::int64_t n = from_.extent(0);
  const double stream_bytes = 4.0 * static_cast<double>(n);
  std::vector<float> sums(static_cast<std::size_t>(pool.threads()));  // used below, so that nothing is left out
  const auto add = [&](int thread, float v) { sums[static_cast<std::size_t>(thread)] += v; };
  Roofs roofs;
  roofs.read = stream_bytes / best_seconds(trials, [&] {
                 pool.parallel(n, piece, [&](std::int64_t begin, std::int64_t end, int thread) {
                   add(thread, HWY_DYNAMIC_DISPATCH(read_stream)(from_.data() + begin, end - begin));
                 });
               });
  roofs.copy = 2 * stream_bytes / best_seconds(trials, [&] {
                 pool.parallel(n, piece, [&](std::int64_t begin, std::int64_t end, int) {
                   HWY_DYNAMIC_DISPATCH(copy_stream)(from_.data() + begin, to_.data() + begin, end - begin);
                 });
               });
  constexpr std::int64_t steps = 20000;
  const std::int64_t pieces = 8 * pool.threads();
  const auto operations = static_cast<double>(pieces * steps * HWY_DYNAMIC_DISPATCH(operations_a_step)());
  roofs.flops = operations / best_seconds(trials, [&] {
                  pool.parallel(pieces, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
                    for (; begin < end; ++begin) {
                      add(thread, HWY_DYNAMIC_DISPATCH(multiply_add)(steps, static_cast<float>(begin) * 1e-6f));
                    }
                  });
                });
  check(std::ranges::all_of(sums, [](float s) { return std::isfinite(s); }), "sums of small numbers are finite");
  return roofs;
}

}  // namespace cachalot
#endif  // HWY_ONCE
