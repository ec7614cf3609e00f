// SPDX-License-Identifier: Apache-2.0
#include "base/primes.h"

#include <gtest/gtest.h>

namespace cachalot::primes_test {
namespace {

TEST(Primes, AgreeWithTrialDivisionUpTo5000) {
  for (std::uint64_t n = 0; n < 5000; ++n) {
    bool prime = n > 1;
    for (std::uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    EXPECT_EQ(is_prime(n), prime) << n;
  }
}

TEST(Primes, PseudoprimesOfFewerBasesAreRefused) {
  // Strong pseudoprimes to base 2; to 2 and 3; to 2, 3 and 5. And a few primes, large and near 2^32.
  for (std::uint64_t n : {2047u, 3277u, 1373653u, 1530787u, 25326001u, 161304001u}) EXPECT_FALSE(is_prime(n)) << n;
  for (std::uint64_t n : {16000057u, 2147483647u, 3215031749u, 3000000019u}) EXPECT_TRUE(is_prime(n)) << n;
  EXPECT_FALSE(is_prime(std::uint64_t{16000057} * 199));
}

TEST(Primes, TheNextOneIsNeverTheNumberItself) {
  EXPECT_EQ(prime_above(0), 2u);
  EXPECT_EQ(prime_above(2), 3u);
  EXPECT_EQ(prime_above(13), 17u);
  EXPECT_EQ(prime_above(15'999'999), 16'000'057u);
}

}  // namespace
}  // namespace cachalot::primes_test
