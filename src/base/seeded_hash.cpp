// SPDX-License-Identifier: Apache-2.0
#include "base/seeded_hash.h"

#include <bit>
#include <random>

namespace cachalot {
namespace {

HashSecret random_secret() {
  std::random_device system;
  const auto word = [&] { return std::uint64_t{system()} << 32 | system(); };
  const std::uint64_t first = word();
  return {first, word()};
}

// Little-endian, from up to 8 bytes.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

}  // namespace

const HashSecret& hash_secret() {
  static const HashSecret secret = random_secret();
  return secret;
}

template <int c, int d>
std::uint64_t sip_hash(const HashSecret& secret, std::string_view text) {
  std::uint64_t v0 = secret.first ^ 0x736f6d6570736575, v1 = secret.second ^ 0x646f72616e646f6d,
                v2 = secret.first ^ 0x6c7967656e657261, v3 = secret.second ^ 0x7465646279746573;
  const auto rounds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(c);
    v0 ^= word;
  };
  const std::uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) take(word_of(text.substr(0, 8)));
  take(length << 56 | word_of(text));
  v2 ^= 0xff;
  rounds(d);
  return v0 ^ v1 ^ v2 ^ v3;
}
template std::uint64_t sip_hash<1, 3>(const HashSecret&, std::string_view);
template std::uint64_t sip_hash<2, 4>(const HashSecret&, std::string_view);

std::uint64_t mix(const HashSecret& secret, std::uint64_t number) {
  __extension__ using Wide = unsigned __int128;  // its high half is what a product of 64 bits would lose
  const Wide product = Wide{number ^ secret.first} * (secret.second | 1);
  const Wide again = Wide{static_cast<std::uint64_t>(product) ^ secret.second} *
                     (static_cast<std::uint64_t>(product >> 64) ^ secret.first);
  return static_cast<std::uint64_t>(again) ^ static_cast<std::uint64_t>(again >> 64);
}

}  // namespace cachalot
