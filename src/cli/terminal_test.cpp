// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace cachalot {
namespace {

// While it lives, a standard stream's number is another file, or closed where `path` is null.
class Instead {
 public:
  Instead(int stream, const char* path, int mode) : stream_(stream), kept_(::dup(stream)) {
    std::fflush(nullptr);
    ::close(stream);
    if (path != nullptr) {
      EXPECT_EQ(::open(path, mode), stream);
    }
  }
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;
  ~Instead() {
    std::fflush(nullptr);
    ::dup2(kept_, stream_);
    ::close(kept_);
    for (std::FILE* file : {stdin, stdout, stderr}) std::clearerr(file);
  }

 private:
  int stream_, kept_;
};

TEST(Terminal, OutputThatIsTakenIsNoError) {
  const Instead null(STDOUT_FILENO, "/dev/null", O_WRONLY);
  print_out("text");
  EXPECT_TRUE(finish_output().has_value());
  EXPECT_TRUE(output_is_good());
}

TEST(Terminal, OutputThatIsLostIsAnErrorAndNoException) {
  const std::string large(std::size_t{1} << 20, 'x');
  for (const std::string& text : {std::string("short"), large}) {
    Status done;
    bool good = true;
    {
      const Instead full(STDOUT_FILENO, "/dev/full", O_WRONLY);
      print_out(text);
      done = finish_output();
      good = output_is_good();
    }
    ASSERT_FALSE(done.has_value()) << text.size();
    EXPECT_EQ(done.error().code, Errc::io);
    EXPECT_FALSE(good);
  }
}

TEST(Terminal, ErrorsNeedNobodyWhoReadsThem) {
  const Instead full(STDERR_FILENO, "/dev/full", O_WRONLY);
  EXPECT_EQ(report({Errc::io, "lost"}), 1);
  EXPECT_EQ(report({Errc::usage, "lost"}), 2);
}

TEST(Terminal, InputThatCannotBeReadIsNotAnEmptyText) {
  bool read = true;
  {
    const Instead folder(STDIN_FILENO, "/", O_RDONLY);
    read = read_input().has_value();
  }
  EXPECT_FALSE(read);
}

TEST(Terminal, ClosedStreamsAreNotGivenToTheNextFile) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    int file = -1;
    {
      const Instead closed(stream, nullptr, 0);
      open_standard_streams();
      file = ::open("/dev/null", O_RDONLY);
      if (stream == STDOUT_FILENO) {
        print_out("text");
        EXPECT_FALSE(finish_output().has_value());
      }
    }
    EXPECT_GT(file, STDERR_FILENO);
    ::close(file);
  }
}

}  // namespace
}  // namespace cachalot
