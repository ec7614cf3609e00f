// SPDX-License-Identifier: Apache-2.0
#include "base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cachalot {

Expected<OpenFile> OpenFile::open(const std::filesystem::path& path) {
  OpenFile file;
  do {
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (file.descriptor_ < 0 && errno == EINTR);
  if (file.descriptor_ < 0) {
    const Errc code = errno == ENOENT || errno == ENOTDIR ? Errc::missing : Errc::io;
    return fail(code, "can't open {}: {}", path.string(), std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(file.descriptor_, &status) != 0) {
    return fail(Errc::io, "can't ask for the size of {}: {}", path.string(), std::strerror(errno));
  }
  file.mode_ = status.st_mode;
  file.bytes_ = S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  // From here on a reader may wait: for a pipe that somebody does write to.
  if (const int flags = ::fcntl(file.descriptor_, F_GETFL); flags >= 0)
    (void)::fcntl(file.descriptor_, F_SETFL, flags & ~O_NONBLOCK);
  return file;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OpenFile::regular() const { return S_ISREG(mode_); }
bool OpenFile::pipe() const { return S_ISFIFO(mode_); }

const char* OpenFile::kind() const {
  if (S_ISREG(mode_)) return "a regular file";
  if (S_ISDIR(mode_)) return "a folder";
  if (S_ISFIFO(mode_)) return "a pipe";
  return S_ISCHR(mode_) || S_ISBLK(mode_) ? "a device" : "a socket";
}

}  // namespace cachalot
