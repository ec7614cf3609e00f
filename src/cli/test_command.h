// SPDX-License-Identifier: Apache-2.0
// Runs commands as a shell would, within a test.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <string>
#include <vector>

namespace cachalot {

struct Ran {
  int exit_code = 0;
  std::string out, error;
};

using AddCommand = void (*)(CLI::App& app, int& exit_code);

// A line of arguments for a program that has these commands; exit codes as main gives them.
inline Ran run_line(std::vector<std::string> arguments, std::initializer_list<AddCommand> commands) {
  CLI::App app("test");
  Ran ran;
  for (const AddCommand add : commands) add(app, ran.exit_code);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    ran.exit_code = app.exit(e) == 0 ? 0 : 2;
  }
  std::cout.flush();
  std::fflush(stdout);
  ran.out = testing::internal::GetCapturedStdout();
  ran.error = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace cachalot
