// SPDX-License-Identifier: Apache-2.0
// Where operators run in tests: every backend of this build, the CPU's at every SIMD level of this machine; whether
// their results are the reference's, and the same bits everywhere. Included by *_test.cpp only.
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
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/simd_level.h"
#include "ops/backend.h"
#include "ops/test_arguments.h"

namespace cachalot {

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

// Runs entries of a backend: on(&Backend::fold, {h, mix, out}).
struct On {
  const Backend* backend = &reference_backend();
  const SimdLevel* level = nullptr;  // the CPU backend's
  int threads = 1;

  template <class Args>
  void operator()(void (*Backend::*entry)(Context&, const Args&), const std::type_identity_t<Args>& args) const {
    if (level != nullptr) force_simd_level(*level);
    (backend->*entry)(context_of(threads), args);
  }
  bool is_reference() const { return backend == &reference_backend(); }
  On with_threads(int n) const { return {backend, level, n}; }

  friend std::ostream& operator<<(std::ostream& to, const On& on) {
    to << on.backend->name;
    return on.level == nullptr ? to : to << '_' << on.level->name;
  }
};

// The reference first.
inline const std::vector<On>& everywhere() {
  static const auto places = [] {
    std::vector<On> all;
    for (const Backend* b : all_backends()) {
      if (b != &cpu_backend()) all.push_back({b});
    }
    for (const SimdLevel& level : simd_levels()) all.push_back({&cpu_backend(), &level});
    return all;
  }();
  return places;
}

// A suite whose tests run everywhere: using Fold = OnEveryBackend; TEST_P(Fold, …) { … on(…) … };
// INSTANTIATE_TEST_SUITE_P(, Fold, each_backend(), place_name);
class OnEveryBackend : public testing::TestWithParam<On> {
 protected:
  const On on = GetParam();
};
inline auto each_backend() { return testing::ValuesIn(everywhere()); }
inline const auto place_name = testing::PrintToStringParamName();

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  return std::ranges::equal(a, b, {}, bits, bits);
}

// run(first, count) computes those rows and returns their results, row after row. True when each row alone gives the
// bits it has among all.
template <class Run>
bool rows_stand_alone(std::int64_t rows, Run run) {
  std::vector<float> joined;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<float> one = run(r, 1);
    joined.insert(joined.end(), one.begin(), one.end());
  }
  return !joined.empty() && same_bits(run(0, rows), joined);
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

  // run(on) gives what the operator wrote there: the reference's is what all others are compared with, the CPU's at
  // every SIMD level on 1 to 4 threads. Bits may not depend on threads, nor on the level where it has a fused
  // multiply-add.
  template <class Run>
  void add(Run run) {
    const std::vector<float> want = run(On());
    std::optional<std::vector<float>> fused;
    for (const On& place : everywhere()) {
      if (place.is_reference()) continue;
      std::vector<float> alone;
      for (int threads = 1; threads <= 4; ++threads) {
        const std::vector<float> got = run(place.with_threads(threads));
        if (threads == 1) alone = got;
        EXPECT_TRUE(same_bits(got, alone)) << place << ", " << threads << " threads";
      }
      add(alone, want);
      if (place.level == nullptr || place.level->name == std::string_view("portable")) continue;
      if (!fused) {
        fused = alone;
        record_bits(*place.level, alone);
      }
      EXPECT_TRUE(same_bits(alone, *fused)) << place;
    }
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
