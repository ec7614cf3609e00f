// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/simd_level.h"

#include <gtest/gtest.h>

namespace cachalot::simd_level_test {
namespace {

TEST(SimdLevel, TheBestOneIsInUseUntilAnotherIsForced) {
  const SimdLevel best = simd_levels().front();
  EXPECT_STREQ(simd_level().name, best.name);
  for (const SimdLevel& l : simd_levels()) {
    force_simd_level(l);
    EXPECT_STREQ(simd_level().name, l.name);
  }
  force_simd_level(best);
}

TEST(SimdLevel, EveryLevelIsFoundByItsName) {
  ASSERT_FALSE(simd_levels().empty());
  for (const SimdLevel& l : simd_levels()) EXPECT_EQ(find_simd_level(l.name)->target, l.target);
}

TEST(SimdLevel, AnUnknownNameIsRefusedWithTheOnesThereAre) {
  const auto none = find_simd_level("avx9000");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::usage);
  EXPECT_NE(none.error().message.find(simd_levels().back().name), std::string::npos);
}

}  // namespace
}  // namespace cachalot::simd_level_test
