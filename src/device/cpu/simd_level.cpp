// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/simd_level.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "device/cpu/targets.h"
#include "hwy/highway.h"

namespace cachalot {
namespace {

// Which of the two portable targets there is depends on the compiler: Highway does not trust g++ 12 with EMU128.
constexpr std::array<SimdLevel, 4> known = {{{"avx512", HWY_AVX3},
                                             {"avx2", HWY_AVX2},
                                             {"neon", HWY_NEON},
                                             {"portable", HWY_TARGETS&(HWY_EMU128 | HWY_SCALAR)}}};

const std::vector<SimdLevel>& available() {
  static const std::vector<SimdLevel> levels = [] {
    std::vector<SimdLevel> found;
    for (const SimdLevel& l : known) {
      // Compiled in, and either what every machine of this kind has or what this one says it can.
      const bool compiled = (HWY_TARGETS & l.target) != 0;
      if (compiled && ((hwy::SupportedTargets() | HWY_STATIC_TARGET) & l.target) != 0) found.push_back(l);
    }
    check(!found.empty(), "a level that every machine can run");
    return found;
  }();
  return levels;
}

const SimdLevel*& current() {
  static const SimdLevel* level = &available().front();
  return level;
}

}  // namespace

std::span<const SimdLevel> simd_levels() { return available(); }

const SimdLevel& simd_level() { return *current(); }

void force_simd_level(const SimdLevel& level) {
  const auto at = std::ranges::find(available(), level.target, &SimdLevel::target);
  check(at != available().end(), "force_simd_level takes a level of simd_levels()");
  hwy::SetSupportedTargetsForTest(level.target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  current() = &*at;
}

Expected<SimdLevel> find_simd_level(std::string_view name) {
  for (const SimdLevel& l : available()) {
    if (name == l.name) return l;
  }
  std::vector<std::string> names;
  for (const SimdLevel& l : available()) names.emplace_back(l.name);
  return fail(Errc::usage, "SIMD level {}: this machine and build have {}", name, shown_list(names, names.size()));
}

}  // namespace cachalot
