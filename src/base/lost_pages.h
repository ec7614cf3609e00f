// SPDX-License-Identifier: Apache-2.0
// A mapped file that shrinks, or a disk that fails, shows only when a page of it is read: as SIGBUS. The program then
// ends with exit code 1 and one line that names file and byte, instead of "Bus error".
#pragma once

#include <cstddef>
#include <filesystem>

namespace cachalot {

// To be told of every mapping; thread-safe. The first call installs the handler; a SIGBUS elsewhere goes on to whoever
// handled it before.
void watch_mapping(const std::byte* data, std::size_t size, const std::filesystem::path& path);
void forget_mapping(const std::byte* data);
// Places that are kept for mappings, for tests: as many as there have been at a time, not over time.
std::size_t mapping_places();

}  // namespace cachalot
