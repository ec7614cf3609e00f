// SPDX-License-Identifier: Apache-2.0
// Runs commands as a shell would, within a test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_folder.h"
#include "cli/command_line/command.h"

namespace cachalot {

struct Ran {
  int exit_code = 0;
  std::string out, error;
};

// A text with one space where more stood: for what is in a table's row, wherever the columns are.
inline std::string one_spaced(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

// A text as standard input, while it lives.
class GivenInput {
 public:
  explicit GivenInput(std::string_view text) : kept_(::dup(STDIN_FILENO)) {
    const int file = ::open(folder_.write("input", text).c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(file, 0);
    ::dup2(file, STDIN_FILENO);
    ::close(file);
  }
  GivenInput(const GivenInput&) = delete;
  GivenInput& operator=(const GivenInput&) = delete;
  ~GivenInput() {
    ::dup2(kept_, STDIN_FILENO);
    ::close(kept_);
  }

 private:
  TestFolder folder_;
  int kept_;
};

using AddCommand = void (*)(Command& program);

// A line of arguments for a program that has these commands.
inline Ran run_line(const std::vector<std::string>& arguments, std::initializer_list<AddCommand> commands) {
  Command program("cachalot", "test");
  for (const AddCommand add : commands) add(program);
  Ran ran;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ran.exit_code = program.run(arguments);
  std::cout.flush();
  std::fflush(stdout);
  ran.out = testing::internal::GetCapturedStdout();
  ran.error = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace cachalot
