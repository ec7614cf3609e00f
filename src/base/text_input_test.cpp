// SPDX-License-Identifier: Apache-2.0
#include "base/text_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/test_folder.h"

namespace cachalot::text_input_test {
namespace {

// A pipe with a text in it, closed for writing.
class Pipe {
 public:
  explicit Pipe(std::string_view text) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { ::close(ends_[0]); }
  std::string path() const { return fmt::format("/dev/fd/{}", ends_[0]); }  // as a shell's <(command)
  int descriptor() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

std::string read(const std::filesystem::path& path, std::size_t most = 100, Pipes pipes = Pipes::allowed) {
  const auto text = read_text_file(path, most, pipes);
  return text ? *text : "error: " + text.error().message;
}

TEST(TextInput, FileIsReadUpToItsLimit) {
  const TestFolder folder;
  const auto file = folder.write("a", std::string("one\0two", 7));
  EXPECT_EQ(read(file, 7), std::string("one\0two", 7));
  EXPECT_EQ(read(file, 6), "error: " + file.string() + " has more than the 6 bytes that are read at most");
  EXPECT_EQ(read_text_file(file, 6, Pipes::refused).error().code, Errc::range);
  EXPECT_EQ(read(folder.write("empty", "")), "");
  const std::string long_text(1'000'000, 'x');
  EXPECT_EQ(read(folder.write("long", long_text), long_text.size()), long_text);
}

TEST(TextInput, WhatIsNoFileIsSaidToBeWhatItIs) {
  const TestFolder folder;
  EXPECT_EQ(read(folder.path()),
            "error: " + folder.path().string() + " is a folder, expected a regular file or a pipe");
  EXPECT_EQ(read("/dev/zero"), "error: /dev/zero is a device, expected a regular file or a pipe");
  EXPECT_EQ(read("/dev/zero", 100, Pipes::refused), "error: /dev/zero is a device, expected a regular file");
  EXPECT_EQ(read_text_file(folder.path() / "absent", 9, Pipes::allowed).error().code, Errc::missing);
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_NE(read(folder.path() / "loop").find("Too many levels of symbolic links"), std::string::npos);
}

TEST(TextInput, NamedPipeIsNotWaitedFor) {
  const TestFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read(pipe, 9, Pipes::refused), "error: " + pipe.string() + " is a pipe, expected a regular file");
  EXPECT_EQ(read(pipe), "error: " + pipe.string() + " is a pipe, and nobody writes to it");
}

TEST(TextInput, PipeThatSomebodyWritesToIsReadToItsEnd) {
  const Pipe pipe("from a command");
  EXPECT_EQ(read(pipe.path()), "from a command");
  const Pipe long_one("more than ten bytes");
  EXPECT_NE(read(long_one.path(), 10).find("more than the 10 bytes"), std::string::npos);

  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::jthread slow([&] {
    for (const char* piece : {"now ", "and ", "then"}) {
      ::usleep(2000);
      (void)!::write(ends[1], piece, std::string_view(piece).size());
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(read(fmt::format("/dev/fd/{}", ends[0])), "now and then");
  ::close(ends[0]);
}

TEST(TextInput, DescriptorIsReadNoFurtherThanItsLimit) {
  const Pipe pipe("0123456789");
  EXPECT_EQ(read_descriptor(pipe.descriptor(), "input", 10).value(), "0123456789");
  const int zero = ::open("/dev/zero", O_RDONLY);
  const auto endless = read_descriptor(zero, "input", 1 << 20);
  ::close(zero);
  ASSERT_FALSE(endless.has_value());
  EXPECT_EQ(endless.error().message, "input has more than the 1048576 bytes that are read at most");
  EXPECT_EQ(read_descriptor(-1, "input", 10).error().code, Errc::io);
}

}  // namespace
}  // namespace cachalot::text_input_test
