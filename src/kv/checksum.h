// SPDX-License-Identifier: Apache-2.0
// XXH3: whether bytes are still those that were written, and whether two beginnings may be the same. No proof against
// somebody who makes two texts of one checksum: where that matters, the texts are compared as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace cachalot {

// `before`: the checksum of what came before, for bytes in several pieces. Where the pieces are cut counts.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t before = 0);

// The chain over the beginning of a sequence: of no token yet, and of one token more.
inline constexpr std::uint64_t no_tokens_hash = 0;
std::uint64_t chain_hash(std::uint64_t before, TokenId next);

}  // namespace cachalot
