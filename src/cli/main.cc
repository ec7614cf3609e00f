// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <new>
#include <system_error>

#include "cli/bench_command.h"
#include "cli/cache_command.h"
#include "cli/chat_command.h"
#include "cli/inspect_command.h"
#include "cli/make_checkpoint_command.h"
#include "cli/perplexity_command.h"
#include "cli/plan_command.h"
#include "cli/render_command.h"
#include "cli/run_command.h"
#include "cli/terminal.h"
#include "cli/tokenize_command.h"
#include "cli/verify_command.h"
#include "device/cpu/simd_level.h"
#include "ops/backend.h"
#include "version.h"

int main(int argc, char** argv) {
  using namespace cachalot;
  open_standard_streams();
  report_file_limits();
  // Standard output is for results; what there is to say about them goes to standard error.
  spdlog::set_default_logger(spdlog::stderr_color_mt(
      "cachalot", std::getenv("NO_COLOR") != nullptr ? spdlog::color_mode::never : spdlog::color_mode::automatic));
  spdlog::set_pattern("cachalot: %^%l%$: %v");

  CLI::App app("Runs DeepSeek-V4.1-Flash from its released checkpoint.");
  app.set_version_flag("--version", fmt::format("cachalot {} ({})\nbackends: {}, {} ({})", version, git_revision,
                                                reference_backend().name, cpu_backend().name, simd_level().name));
  app.require_subcommand(0, 1);  // none is told below, after a word that is no command
  app.fallthrough();
  std::string log_level = "warn";
  app.add_option("--log-level", log_level, "what to tell on standard error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.parse_complete_callback([&] { spdlog::set_level(spdlog::level::from_str(log_level)); });
  app.footer(
      "`cachalot COMMAND --help` tells more and has an example.\nExample: cachalot run \"It was a dark night, and\"");

  int exit_code = 0;
  add_run_command(app, exit_code);
  add_chat_command(app, exit_code);
  add_tokenize_command(app, exit_code);
  add_render_command(app, exit_code);
  add_inspect_command(app, exit_code);
  add_perplexity_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_verify_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_cache_command(app, exit_code);
  add_make_checkpoint_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e) == 0 ? 0 : 2;
    std::cout.flush();
    if (exit_code != 0) return exit_code;
    const Status told = finish_output();
    return told ? 0 : report(told.error());
  } catch (const std::bad_alloc&) {
    return report({Errc::memory, "not enough memory; `cachalot plan` tells what a model needs"});
  } catch (const std::system_error& e) {
    return report({Errc::memory, e.what()});
  }
  if (app.get_subcommands().empty()) {
    return report({Errc::usage, "a command is expected, such as `cachalot run TEXT`; `cachalot --help` lists them"});
  }
  const Status told = finish_output();
  return told ? exit_code : report(told.error());
}
