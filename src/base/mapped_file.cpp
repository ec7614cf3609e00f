// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/lost_pages.h"

namespace cachalot {
namespace {

struct OpenFile {
  int descriptor = -1;
  explicit OpenFile(int d) : descriptor(d) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

}  // namespace

Expected<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe is refused below, not waited for.
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor < 0) {
    const Errc code = errno == ENOENT || errno == ENOTDIR ? Errc::missing : Errc::io;
    return fail(code, "can't open {}: {}", path.string(), std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(file.descriptor, &status) != 0) {
    return fail(Errc::io, "can't ask for the size of {}: {}", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return fail(Errc::io, "{} is not a regular file", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(path, nullptr, 0);  // mmap refuses a length of 0
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor, 0);
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

}  // namespace cachalot
