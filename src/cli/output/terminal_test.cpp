// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>

namespace cachalot::terminal_test {
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

// What a terminal gets where `print` runs with standard output on one.
std::string on_a_terminal(const std::function<void()>& print) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  std::string shown(1 << 12, '\0');
  {
    const Instead screen(STDOUT_FILENO, ::ptsname(terminal), O_RDWR | O_NOCTTY);
    print();
    EXPECT_TRUE(finish_output());
    const ssize_t n = ::read(terminal, shown.data(), shown.size());
    shown.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  ::close(terminal);
  return shown;
}

TEST(Terminal, ControlCharactersAreMadeVisibleOnATerminalAlone) {
  EXPECT_EQ(on_a_terminal([] { print_out("\x1b]0;owned\a\u009b31m 鯨\r\n"); }),
            "\\x1b]0;owned\\x07\\u009b31m 鯨\\x0d\r\n");
  EXPECT_EQ(on_a_terminal([] {
              for (const char byte : std::string_view("\xc2\x9b鯨\xe9")) print_out(std::string_view(&byte, 1));
            }),
            "\\u009b鯨\\xe9")
      << "characters that come in parts; the last never whole";
  EXPECT_EQ(on_a_terminal([] { out_stream() << "a\x1b" << 7 << std::flush; }), "a\\x1b7");
  EXPECT_EQ(on_a_terminal([] { print_raw("\x1b[2m"); }), "\x1b[2m") << "our own";
  testing::internal::CaptureStdout();
  print_out("\x1b\xc2");
  out_stream() << "\x9b" << std::flush;
  EXPECT_TRUE(finish_output());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\x1b\xc2\x9b") << "a pipe or a file gets what the model wrote";
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
    read = read_input(100).has_value();
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
}  // namespace cachalot::terminal_test
