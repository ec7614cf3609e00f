// SPDX-License-Identifier: Apache-2.0
// What the tests of faster operators share: is it the reference's result, and has it the same bits everywhere?
// Included by *_test.cpp only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/simd_level.h"
#include "ops/context.h"
#include "ops/test_numbers.h"
#include "ops/test_tensors.h"

namespace cachalot {

template <int N>
std::vector<float> floats(const Tensor<N>& t) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(t.get(i));
  return v;
}

// Contexts with 1 to 4 threads, kept: starting threads costs more than most cases, and under qemu-user each thread that
// ends leaves about 0.3 MB behind.
inline Context& context_of(int threads) {
  static const auto contexts = [] {
    std::vector<std::unique_ptr<Context>> all;
    for (int t = 1; t <= 4; ++t) all.push_back(std::make_unique<Context>(t));
    return all;
  }();
  return *contexts[static_cast<std::size_t>(threads - 1)];
}

// Leaves a hash of all that was given in this test, at that level, in its record (--gtest_output=json), so that
// tools/test_arm64 can compare machines. Every NaN counts as the same: processors differ in its sign.
inline void record_bits(const SimdLevel& level, std::span<const float> results) {
  static const testing::TestInfo* test = nullptr;
  static std::uint64_t hash = 0;
  const testing::TestInfo* current = testing::UnitTest::GetInstance()->current_test_info();
  if (std::exchange(test, current) != current) hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const float f : results) {
    hash ^= std::bit_cast<std::uint32_t>(std::isnan(f) ? std::numeric_limits<float>::quiet_NaN() : f);
    hash *= 0x100000001B3u;
  }
  testing::Test::RecordProperty("simd_level", level.name);
  testing::Test::RecordProperty("bits", std::to_string(hash));
}

// How close results are to the reference's, over all that were added.
struct Agreement {
  std::int64_t values = 0;
  std::int64_t unequal = 0;  // bits differ
  double error = 0;          // largest |got - want| / rms(want)
  double ulps = 0;           // largest distance in bf16 ulps; below rms / 16, where sums cancel, in ulps of rms / 16

  void add(std::span<const float> got, std::span<const float> want) {
    ASSERT_EQ(got.size(), want.size());
    double squares = 0;
    for (const float w : want) squares += std::isfinite(w) ? static_cast<double>(w) * w : 0;
    const double rms = want.empty() ? 0 : std::sqrt(squares / static_cast<double>(want.size()));
    for (std::size_t i = 0; i < want.size(); ++i) {
      ++values;
      if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
      ++unequal;
      ASSERT_TRUE(std::isfinite(got[i]) && std::isfinite(want[i])) << i << ": " << got[i] << ", wanted " << want[i];
      const double distance = std::abs(static_cast<double>(got[i]) - want[i]);
      error = std::max(error, distance / rms);
      ulps = std::max(ulps,
                      std::ldexp(distance, 7 - std::ilogb(std::max(std::abs(static_cast<double>(want[i])), rms / 16))));
    }
  }
  double share() const { return static_cast<double>(unequal) / static_cast<double>(std::max<std::int64_t>(values, 1)); }

  // Runs run(operator, context), which returns what the operator wrote: the reference once, cpu at every SIMD level on
  // 1 to 4 threads. Bits may not depend on threads, nor on the level where it has a fused multiply-add.
  template <class Operator, class Run>
  void add(Operator ref, Operator cpu, Run run) {
    Context context;
    const std::vector<float> want = run(ref, context);
    std::optional<std::vector<float>> fused;
    for (const SimdLevel& level : simd_levels()) {
      force_simd_level(level);
      std::vector<float> alone;
      for (int threads = 1; threads <= 4; ++threads) {
        Context& several = context_of(threads);
        const std::vector<float> got = run(cpu, several);
        if (threads == 1) alone = got;
        EXPECT_TRUE(same_bits(got, alone)) << level.name << ", " << threads << " threads";
      }
      add(alone, want);
      if (level.name == std::string_view("portable")) continue;
      if (!fused) {
        fused = alone;
        record_bits(level, alone);
      }
      EXPECT_TRUE(same_bits(alone, *fused)) << level.name;
    }
    force_simd_level(simd_levels().front());
  }

  friend std::ostream& operator<<(std::ostream& to, const Agreement& a) {
    return to << a.values << " values, " << a.unequal << " unequal, " << a.ulps << " bf16 ulps, error " << a.error;
  }
};

// The forced-row rule for bf16 results.
inline void expect_bf16_agrees(const Agreement& a, double ulps = 1, double share = 0.002) {
  EXPECT_GT(a.values, 0);
  EXPECT_LE(a.ulps, ulps) << a;
  EXPECT_LE(a.share(), share) << a;
}
inline void expect_f32_agrees(const Agreement& a, double error = 2e-6) {
  EXPECT_GT(a.values, 0);
  EXPECT_LE(a.error, error) << a;
}
inline void expect_agrees(const Agreement& a, DType type) {
  type == DType::bf16 ? expect_bf16_agrees(a) : expect_f32_agrees(a);
}

}  // namespace cachalot
