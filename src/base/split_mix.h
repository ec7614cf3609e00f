// SPDX-License-Identifier: Apache-2.0
// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): the same numbers on every
// machine and standard library, for weights, benchmarks and tests.
#pragma once

#include <cstdint>

namespace cachalot {

class SplitMix {
 public:
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15u;

  explicit constexpr SplitMix(std::uint64_t seed) : state_(seed) {}

  // A number is a function of its place in the sequence: the n-th one of a seed is mixed(seed + n · step).
  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  constexpr std::uint64_t bits() { return mixed(state_ += step); }
  // A whole number in [0, bound).
  constexpr std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

}  // namespace cachalot
