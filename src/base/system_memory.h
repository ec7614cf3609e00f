// SPDX-License-Identifier: Apache-2.0
// Zeroed memory in whole pages of the system, which can grow without being copied.
#pragma once

#include <cstddef>

namespace cachalot {

std::byte* map_memory(std::size_t bytes);  // null: there is none
// The same bytes and zeros behind them, perhaps elsewhere. Null: there is no more, and all stays as it is.
std::byte* grow_memory(std::byte* at, std::size_t bytes, std::size_t to);
void unmap_memory(std::byte* at, std::size_t bytes) noexcept;
// Addresses that are nobody's memory, until unmap_memory: who reads or writes there gets SIGSEGV. Null: there are none.
std::byte* reserve_addresses(std::size_t bytes);

}  // namespace cachalot
