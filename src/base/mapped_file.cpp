// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/open_file.h"
#include "base/watched_mappings.h"

namespace cachalot {
Expected<MappedFile> MappedFile::open(const std::filesystem::path& path, std::size_t most_bytes) {
  const auto file = OpenFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if (!file->regular()) return fail(Errc::io, "{} is {}, expected a regular file", path.string(), file->kind());
  const std::size_t size = file->bytes();
  if (size > most_bytes) return fail(Errc::range, "{}: {} bytes, expected at most {}", path.string(), size, most_bytes);
  if (size == 0) return MappedFile(path, nullptr, 0);  // mmap refuses a length of 0
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file->descriptor(), 0);
  if (data == MAP_FAILED) {
    return fail(Errc::io, "can't map {} ({} bytes): {}", path.string(), size, std::strerror(errno));
  }
  watch_mapping(static_cast<const std::byte*>(data), size, path);
  return MappedFile(path, static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void expect_read(const std::byte* first, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(first), begin = at / page * page;
  if (bytes > 0) ::madvise(reinterpret_cast<void*>(begin), at + bytes - begin, MADV_WILLNEED);
}

}  // namespace cachalot
