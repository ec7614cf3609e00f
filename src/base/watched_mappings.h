// SPDX-License-Identifier: Apache-2.0
// Which files are mapped where. A mapped file that shrinks, or a disk that fails, shows only when a page of it is read:
// as SIGBUS. A library handles no signal; a program that does can tell from here which file and byte it was.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace cachalot {

// To be told of every mapping; thread-safe.
void watch_mapping(const std::byte* data, std::size_t size, const std::filesystem::path& path);
void forget_mapping(const std::byte* data);

struct WatchedMapping {
  const std::byte* data;
  std::size_t size;
  const char* path;
  std::string_view shown;  // the path as a terminal may show it
};
// Whose byte this is; a signal handler may ask, at any time.
std::optional<WatchedMapping> mapping_at(const std::byte* at);

// Places that are kept for mappings, for tests: as many as there have been at a time, not over time.
std::size_t mapping_places();

}  // namespace cachalot
