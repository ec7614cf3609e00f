// SPDX-License-Identifier: Apache-2.0
#include "base/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cachalot {
namespace fs = std::filesystem;
namespace {

bool is_foreign(uid_t owner) { return owner != ::geteuid() && owner != 0; }

tl::unexpected<Error> failed(const fs::path& folder, const char* why) {
  return fail(Errc::io, "can't use the folder {}: {}", folder.string(), why);
}

}  // namespace

Status make_private_folder(const fs::path& folder) {
  std::error_code error;
  fs::path plain = folder;
  if (!plain.has_filename()) plain = plain.parent_path();  // "states/"
  if (plain.has_parent_path()) fs::create_directories(plain.parent_path(), error);
  if (error) return failed(folder, error.message().c_str());
  if (::mkdir(plain.c_str(), 0700) != 0 && errno != EEXIST) return failed(folder, std::strerror(errno));
  return {};
}

Expected<std::optional<ShownText>> why_not_private(const fs::path& folder) {
  fs::path plain = folder;
  if (!plain.has_filename()) plain = plain.parent_path();
  struct stat link = {}, status = {};
  if (::lstat(plain.c_str(), &link) != 0 || ::stat(plain.c_str(), &status) != 0)
    return failed(folder, std::strerror(errno));
  if (S_ISLNK(link.st_mode) && is_foreign(link.st_uid))
    return message("{} is a link that user {} made", plain.string(), link.st_uid);
  if (!S_ISDIR(status.st_mode)) return failed(folder, "it is no folder");
  if (is_foreign(status.st_uid)) return message("{} belongs to user {}", plain.string(), status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return message("{} may write to {} (mode {:04o}; `chmod go-w` ends that)",
                   (status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group", plain.string(), status.st_mode & 07777);
  }
  std::error_code error;
  const fs::path real = fs::canonical(plain, error);
  if (error) return failed(folder, error.message().c_str());
  for (fs::path above = real; above.has_relative_path();) {
    above = above.parent_path();
    if (::stat(above.c_str(), &status) != 0) return failed(above, std::strerror(errno));
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
      return message("everybody may put another folder in the place of {}, since {} has mode {:04o}", plain.string(),
                     above.string(), status.st_mode & 07777);
    }
  }
  return std::nullopt;
}

}  // namespace cachalot
