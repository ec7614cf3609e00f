// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "base/check.h"
#include "ops/engram/hash/hash.h"

namespace cachalot {
namespace {

using Wide = unsigned __int128;

// A multiplicative hash whose constant moves with each use; pool and state words differ in both constants.
struct HashStream {
  std::uint32_t constant;
  std::uint32_t growth;

  std::uint32_t operator()(std::uint32_t v) {
    v ^= constant;
    constant *= growth;
    v *= constant;
    return v ^ (v >> 16);
  }
};

std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t r = 0xca01f9ddu * x - 0x4973f715u * y;
  return r ^ (r >> 16);
}

}  // namespace

Pcg64::Pcg64(std::uint64_t seed) {
  HashStream into_pool{0x43b0d7e5u, 0x931e8875u};
  std::array<std::uint32_t, 4> pool{};
  // A seed of one word or two: the pool's other words count as 0.
  for (std::size_t i = 0; i < 4; ++i) pool[i] = into_pool(i < 2 ? static_cast<std::uint32_t>(seed >> (32 * i)) : 0u);
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      if (to != from) pool[to] = mix(pool[to], into_pool(pool[from]));
    }
  }
  HashStream out_of_pool{0x8b51f9ddu, 0x58f38dedu};
  std::array<std::uint64_t, 4> word{};
  for (std::size_t i = 0; i < 8; ++i) word[i / 2] |= std::uint64_t{out_of_pool(pool[i % 4])} << (32 * (i % 2));
  increment_ = ((Wide{word[2]} << 64 | word[3]) << 1) | 1;
  step();
  state_ += Wide{word[0]} << 64 | word[1];
  step();
}

void Pcg64::step() { state_ = state_ * (Wide{0x2360ed051fc65da4u} << 64 | 0x4385df649fccf645u) + increment_; }

std::uint64_t Pcg64::next64() {
  step();
  return std::rotr(static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_),
                   static_cast<int>(state_ >> 122));
}

std::uint32_t Pcg64::next32() {
  has_kept_ = !has_kept_;
  if (!has_kept_) return kept_;
  const std::uint64_t both = next64();
  kept_ = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

// The high half of draw · bound; draws whose low half falls below the threshold would make some numbers more likely.
std::uint64_t Pcg64::below(std::uint64_t bound) {
  check(bound >= 1 && bound <= std::uint64_t{1} << 63, "Pcg64::below: a bound from 1 to 2^63");
  constexpr std::uint64_t max32 = 0xFFFFFFFFu, max64 = ~std::uint64_t{0};
  if (bound == 1) return 0;
  if (bound - 1 == max32) return next32();
  const bool narrow = bound <= max32;
  const int bits = narrow ? 32 : 64;
  const std::uint64_t max = narrow ? max32 : max64;
  const auto draw = [&] { return Wide{narrow ? next32() : next64()} * bound; };
  const auto low = [&](Wide t) { return static_cast<std::uint64_t>(t) & max; };
  Wide t = draw();
  if (low(t) < bound) {
    const std::uint64_t threshold = (max - (bound - 1)) % bound;
    while (low(t) < threshold) t = draw();
  }
  return static_cast<std::uint64_t>(t >> bits);
}

}  // namespace cachalot
