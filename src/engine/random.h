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

// Uniform in [0, 1), 53 bits: the draw for the token at `position` of the choice-th completion of a request.
constexpr double uniform(std::uint64_t seed, std::uint32_t choice, std::int64_t position) {
  const auto p = static_cast<std::uint64_t>(position);
  const auto r = philox({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(p >> 32), choice, 0},
                        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return static_cast<double>((std::uint64_t{r[0]} << 21) | (r[1] >> 11)) * 0x1p-53;
}

}  // namespace cachalot
