// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/test_folder.h"

namespace {

// What the next calls of pwrite do instead of all they are asked: -1 is an interrupt, else how many bytes are taken.
std::vector<ssize_t> next_writes;

}  // namespace

// Stands before the C library's own, which never does this for a file on a disk when a test wants it.
extern "C" ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  if (!next_writes.empty()) {
    const ssize_t next = next_writes.back();
    next_writes.pop_back();
    if (next < 0) {
      errno = EINTR;
      return -1;
    }
    size = std::min(size, static_cast<std::size_t>(next));
    if (size == 0) return 0;
  }
  return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

namespace cachalot::output_file_test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(OutputFile, WritesAnywhereInAnyOrderAndTheRestIsZero) {
  const TestFolder folder;
  const auto path = folder.path() / "order";
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE(file->resize(10).has_value());
  ASSERT_TRUE(file->write_at(6, bytes_of("end.")).has_value());
  ASSERT_TRUE(file->write_at(0, bytes_of("abc")).has_value());
  ASSERT_TRUE(file->write_at(3, {}).has_value());
  ASSERT_TRUE(file->close().has_value());
  EXPECT_EQ(MappedFile::open(path)->text(), std::string_view("abc\0\0\0end.", 10));
  auto again = OutputFile::create(path);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  std::filesystem::remove(path);
}

TEST(OutputFile, HoleTakesNoDisk) {
  const TestFolder folder;
  const auto path = folder.path() / "hole";
  ASSERT_TRUE(keeps_holes(folder.path()).value()) << "the tests' folder is expected on such a file system";
  EXPECT_FALSE(std::filesystem::exists(folder.path() / ".cachalot-hole"));
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file->resize(std::int64_t{1} << 33).has_value());
  EXPECT_LT(file->disk_bytes().value(), 1 << 16);
  ASSERT_TRUE(file->write_at(std::int64_t{1} << 32, bytes_of(std::string(1 << 20, 'x'))).has_value());
  EXPECT_GE(file->disk_bytes().value(), 1 << 20);
  EXPECT_LT(file->disk_bytes().value(), 1 << 21);
  EXPECT_EQ(std::filesystem::file_size(path), std::uintmax_t{1} << 33);
  std::filesystem::remove(path);
}

TEST(OutputFile, MovedFileIsClosedOnceByWhoHasIt) {
  const TestFolder folder;
  const auto path = folder.path() / "moved";
  auto first = OutputFile::create(path);
  OutputFile second = std::move(*first);
  OutputFile third = std::move(second);
  second = std::move(third);
  ASSERT_TRUE(second.write_at(0, bytes_of("x")).has_value());
  EXPECT_TRUE(second.close().has_value());
  std::filesystem::remove(path);
}

TEST(OutputFile, ErrorsNameTheFile) {
  const auto absent = OutputFile::create("/absent/file");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, Errc::io);
  EXPECT_EQ(absent.error().message, "can't create /absent/file: No such file or directory");
  EXPECT_FALSE(keeps_holes("/absent").has_value());
  auto full = OutputFile::create("/dev/full");
  ASSERT_TRUE(full.has_value());
  const Status written = full->write_at(0, bytes_of("x"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().message, "can't write 1 bytes at 0 of /dev/full: No space left on device");
  EXPECT_FALSE(full->resize(1).has_value());
}

TEST(OutputFile, SizeThatTheFileSystemDoesNotTakeSaysWhatIsNeeded) {
  const TestFolder folder;
  const auto path = folder.path() / "limit";
  auto file = OutputFile::create(path);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = 1 << 20;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lower), 0);
  const Status grown = file->resize((1 << 20) + 1);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(grown.has_value());
  EXPECT_EQ(grown.error().message,
            fmt::format("can't make {} 1048577 bytes long: File too large: a file system (or `ulimit -f`) that takes "
                        "larger files is needed",
                        path.string()));
  std::filesystem::remove(path);
}

TEST(OutputFile, WhatIsTakenInPartsOrInterruptedIsWrittenWhole) {
  const TestFolder folder;
  const auto path = folder.path() / "parts";
  auto file = OutputFile::create(path);
  next_writes = {-1, 4, -1, -1, 1};  // the last comes first
  ASSERT_TRUE(file->write_at(2, bytes_of("0123456789")).has_value());
  EXPECT_TRUE(next_writes.empty());
  EXPECT_EQ(MappedFile::open(path)->text(), std::string_view("\0\0"
                                                             "0123456789",
                                                             12));
  next_writes = {0, 3};
  const Status stuck = file->write_at(0, bytes_of("abcdef"));
  ASSERT_FALSE(stuck.has_value());
  EXPECT_TRUE(stuck.error().message.starts_with("can't write 3 bytes at 3 of ")) << stuck.error().message;
  EXPECT_TRUE(stuck.error().message.ends_with("nothing was taken"));
}

}  // namespace
}  // namespace cachalot::output_file_test
