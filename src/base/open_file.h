// SPDX-License-Identifier: Apache-2.0
// A file opened for reading, and what it is.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

#include "base/expected.h"

namespace cachalot {

class OpenFile {
 public:
  // Opens without waiting: a pipe that nobody writes to opens at once, and reads as empty. Errors: Errc::missing where
  // there is no such file, Errc::io for the rest, with the system's words.
  static Expected<OpenFile> open(const std::filesystem::path& path);

  OpenFile(OpenFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), mode_(other.mode_), bytes_(other.bytes_) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    mode_ = other.mode_;
    bytes_ = other.bytes_;
    return *this;
  }
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  bool regular() const;
  bool pipe() const;
  std::size_t bytes() const { return bytes_; }  // of a regular file
  const char* kind() const;                     // "a folder", "a device", for messages

 private:
  OpenFile() = default;

  int descriptor_ = -1;
  mode_t mode_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace cachalot
