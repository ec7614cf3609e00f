// SPDX-License-Identifier: Apache-2.0
#include "base/primes.h"

#include <initializer_list>

namespace cachalot {
namespace {

using Wide = unsigned __int128;

std::uint64_t power_mod(std::uint64_t base, std::uint64_t exponent, std::uint64_t n) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result = static_cast<std::uint64_t>(Wide{result} * base % n);
    base = static_cast<std::uint64_t>(Wide{base} * base % n);
  }
  return result;
}

// One round of Miller–Rabin, n odd: n - 1 = odd · 2^twos.
bool passes(std::uint64_t n, std::uint64_t witness) {
  std::uint64_t odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  std::uint64_t x = power_mod(witness, odd, n);
  if (x == 1) return true;
  for (int i = 0; i < twos; ++i) {
    if (x == n - 1) return true;
    x = static_cast<std::uint64_t>(Wide{x} * x % n);
  }
  return false;
}

}  // namespace

bool is_prime(std::uint64_t n) {
  if (n < 2) return false;
  for (std::uint64_t p : {2u, 3u, 5u, 7u}) {
    if (n % p == 0) return n == p;
  }
  return passes(n, 2) && passes(n, 3) && passes(n, 5) && passes(n, 7);
}

std::uint64_t prime_above(std::uint64_t n) {
  do ++n;
  while (!is_prime(n));
  return n;
}

}  // namespace cachalot
