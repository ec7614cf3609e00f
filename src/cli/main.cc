// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cli/output/log.h"
#include "cli/output/lost_pages.h"
#include "cli/output/terminal.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  using namespace cachalot;
  open_standard_streams();
  report_file_limits();
  ignore_stray_signals();
  tell_lost_pages();
  start_log();

  Command program("cachalot", "Runs DeepSeek-V4.1-Flash from its released checkpoint");
  add_everything(program);
  int exit_code = 0;
  try {
    exit_code = program.run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    return report({Errc::memory, "not enough memory; `cachalot plan` tells what a model needs"});
  } catch (const std::system_error& e) {  // such as one thread more than may be
    return report({Errc::memory, fmt::format("the system refused what this needs ({}); `ulimit -a` shows its limits",
                                             e.code().message())});
  } catch (const std::exception& e) {
    return report({Errc::range, fmt::format("unforeseen, and a fault of this program ({}): please report it with the "
                                            "command and its input",
                                            e.what())});
  }
  const Status told = finish_output();
  return told ? exit_code : report(told.error());
}
