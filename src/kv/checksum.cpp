// SPDX-License-Identifier: Apache-2.0
#include "kv/checksum.h"

#include <xxhash.h>

namespace cachalot {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t before) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), before);
}

std::uint64_t chain_hash(std::uint64_t before, TokenId next) {
  return XXH3_64bits_withSeed(&next, sizeof(next), before);
}

}  // namespace cachalot
