// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/signals.h"

namespace cachalot {

Expected<OutputFile> OutputFile::create(const std::filesystem::path& path, Readers readers) {
  const mode_t mode = readers == Readers::owner ? 0600 : 0666;
  const int descriptor =
      through_signals([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode); });
  if (descriptor < 0) return fail(Errc::io, "can't create {}: {}", path.string(), std::strerror(errno));
  return OutputFile(path, descriptor);
}

OutputFile::OutputFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status OutputFile::resize(std::int64_t bytes) {
  if (through_signals([&] { return ::ftruncate(descriptor_, bytes); }) == 0) return {};
  const int error = errno;
  const char* what_to_do = error == EFBIG ? ": a file system (or `ulimit -f`) that takes larger files is needed" : "";
  return fail(Errc::io, "can't make {} {} bytes long: {}{}", path_.string(), bytes, std::strerror(error), what_to_do);
}

Status OutputFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = through_signals([&] { return ::pwrite(descriptor_, bytes.data(), bytes.size(), offset); });
    if (done <= 0) {
      return fail(Errc::io, "can't write {} bytes at {} of {}: {}", bytes.size(), offset, path_.string(),
                  done < 0 ? std::strerror(errno) : "nothing was taken");
    }
    offset += done;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

Expected<std::int64_t> OutputFile::disk_bytes() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) {
    return fail(Errc::io, "can't ask for the size of {}: {}", path_.string(), std::strerror(errno));
  }
  return std::int64_t{status.st_blocks} * 512;
}

Status OutputFile::close() {
  // A signal that broke in has not kept it open.
  if (::close(std::exchange(descriptor_, -1)) == 0 || errno == EINTR) return {};
  return fail(Errc::io, "can't finish writing {}: {}", path_.string(), std::strerror(errno));
}

Expected<bool> keeps_holes(const std::filesystem::path& folder) {
  constexpr std::int64_t hole = 1 << 20;
  const std::filesystem::path path = folder / ".cachalot-hole";
  auto file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  const Status grown = file->resize(hole);
  const auto taken = file->disk_bytes();
  (void)file->close();
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!grown) return tl::unexpected(grown.error());
  if (!taken) return tl::unexpected(taken.error());
  return *taken < hole / 2;
}

}  // namespace cachalot
