// SPDX-License-Identifier: Apache-2.0
#include "base/split_mix.h"

#include <gtest/gtest.h>

namespace cachalot::split_mix_test {
namespace {

// As the authors' C code gives them.
TEST(SplitMix, GivesThePublishedNumbers) {
  SplitMix zero(0), other(1234567);
  EXPECT_EQ(zero.bits(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(zero.bits(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(other.bits(), 6457827717110365317u);
  EXPECT_EQ(other.bits(), 3203168211198807973u);
}

TEST(SplitMix, EachNumberIsAFunctionOfItsPlace) {
  SplitMix random(5);
  for (std::uint64_t n = 1; n < 10; ++n) EXPECT_EQ(random.bits(), SplitMix::mixed(5 + n * SplitMix::step));
}

TEST(SplitMix, NumbersBelowABoundAreAllOfThem) {
  SplitMix random(1);
  int seen[7] = {};
  for (int i = 0; i < 700; ++i) ++seen[random.below(7)];
  for (const int n : seen) EXPECT_GT(n, 50);
}

}  // namespace
}  // namespace cachalot::split_mix_test
