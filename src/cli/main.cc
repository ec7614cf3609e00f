// SPDX-License-Identifier: Apache-2.0
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cli/program.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
  using namespace cachalot;
  open_standard_streams();
  report_file_limits();
  ignore_stray_signals();
  // Standard output is for results; what there is to say about them goes to standard error.
  spdlog::set_default_logger(spdlog::stderr_color_mt(
      "cachalot", takes_escapes(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never));
  spdlog::set_pattern("cachalot: %^%l%$: %v");

  Command program("cachalot", "Runs DeepSeek-V4.1-Flash from its released checkpoint");
  add_everything(program);
  int exit_code = 0;
  try {
    exit_code = program.run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    return report({Errc::memory, "not enough memory; `cachalot plan` tells what a model needs"});
  } catch (const std::system_error& e) {
    return report({Errc::memory, e.what()});
  }
  const Status told = finish_output();
  return told ? exit_code : report(told.error());
}
