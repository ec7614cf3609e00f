// SPDX-License-Identifier: Apache-2.0
// A file that is written at any place, in any order. What is never written reads as zero and takes no disk, where the
// file system can keep holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/expected.h"

namespace cachalot {

class OutputFile {
 public:
  // An older file is replaced. `readers` of a new one; the umask may take from it. Errors, here and below: Errc::io,
  // with the path and the system's words.
  enum class Readers { all, owner };
  static Expected<OutputFile> create(const std::filesystem::path& path, Readers readers = Readers::all);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  // Makes the file longer or shorter; what is added is a hole.
  Status resize(std::int64_t bytes);
  // May be called by several threads at once, for places that do not overlap.
  Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // What the file takes on disk by now; a hole takes nothing.
  Expected<std::int64_t> disk_bytes() const;
  // An error of the disk may show no earlier than here. The destructor closes too, and tells nobody.
  Status close();

 private:
  OutputFile(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Can a file in this folder have holes? Tries it with one that goes away. Errors: Errc::io.
Expected<bool> keeps_holes(const std::filesystem::path& folder);

}  // namespace cachalot
