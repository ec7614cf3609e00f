// SPDX-License-Identifier: Apache-2.0
// Prime numbers, which the columns of the n-gram tables have as heights. Miller–Rabin with bases 2, 3, 5 and 7.
#pragma once

#include <cstdint>

namespace cachalot {

bool is_prime(std::uint64_t n);              // exact below 3,215,031,751
std::uint64_t prime_above(std::uint64_t n);  // the smallest that is larger than n

}  // namespace cachalot
