// SPDX-License-Identifier: Apache-2.0
// A whole file, mapped read-only into memory. Pages come from disk when they are first read; one that can't be read any
// more, because the file was cut, is a SIGBUS (watched_mappings.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

class MappedFile {
 public:
  // A regular file of at most `most_bytes`; an empty one is fine. Errors: Errc::missing where there is no such file,
  // Errc::range for a larger one, Errc::io for the rest, with the system's words.
  static Expected<MappedFile> open(const std::filesystem::path& path, std::size_t most_bytes = SIZE_MAX);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const {
    return {data_, size_};
  }  // starts on a page; stays where it is when *this moves
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const { return size_; }

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Tells the system that these bytes of a mapped file will be read soon, so that it can begin. It waits for nothing,
// reports nothing, and costs about a microsecond where they are in memory.
void expect_read(const std::byte* first, std::size_t bytes);

}  // namespace cachalot
