// SPDX-License-Identifier: Apache-2.0
// Random numbers without a state: a number is a function of what it is for (design: sampling is keyed by seed, choice,
// position).
#pragma once

#include <array>
#include <cstdint>

namespace cachalot {

// Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// The noise of every token at `position` of the choice-th completion of a request: uniform in (0, 1), 52 bits, both
// ends left out. Two neighbouring ids share a computation, so ascending ids are quickest.
class TokenNoise {
 public:
  TokenNoise(std::uint64_t seed, std::uint32_t choice, std::int64_t position)
      : counter_{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32), choice, 0},
        key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        numbers_(philox(counter_, key_)) {}

  double operator()(std::int32_t id) {
    const auto i = static_cast<std::uint32_t>(id);
    if (i / 2 != counter_[3]) {
      counter_[3] = i / 2;
      numbers_ = philox(counter_, key_);
    }
    const std::uint64_t bits = (std::uint64_t{numbers_[i % 2 * 2]} << 20) | (numbers_[i % 2 * 2 + 1] >> 12);
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> numbers_;
};

}  // namespace cachalot
