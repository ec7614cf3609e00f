// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "cli/bench_command.h"
#include "cli/cache_command.h"
#include "cli/chat_command.h"
#include "cli/inspect_command.h"
#include "cli/make_checkpoint_command.h"
#include "cli/output/terminal.h"
#include "cli/perplexity_command.h"
#include "cli/plan_command.h"
#include "cli/render_command.h"
#include "cli/run_command.h"
#include "cli/tokenize_command.h"
#include "cli/verify_command.h"
#include "device/cpu/simd_level.h"
#include "ops/backend.h"
#include "version.h"

namespace cachalot {

void add_everything(Command& program) {
  OptionGroup& options = program.group("Options");
  const auto log_level = std::make_shared<std::string>("warn");
  options.choice("--log-level", *log_level, {"debug", "info", "warn", "error", "off"}, "what to tell on standard error")
      .placeholder("LEVEL")
      .with_default();
  program.before([log_level] { spdlog::set_level(spdlog::level::from_str(*log_level)); });
  options.action("-V,--version", "which version and backends this is", [] {
    print_out(fmt::format("cachalot {} ({})\nbackends: {}, {} ({})\n", version, git_revision, reference_backend().name,
                          cpu_backend().name, simd_level().name));
  });
  add_run_command(program);
  add_chat_command(program);
  add_tokenize_command(program);
  add_render_command(program);
  add_inspect_command(program);
  add_perplexity_command(program);
  add_plan_command(program);
  add_verify_command(program);
  add_bench_command(program);
  add_cache_command(program);
  add_make_checkpoint_command(program);
  program.examples({"cachalot run \"It was a dark night, and\"", "cachalot chat --thinking off"});
}

}  // namespace cachalot
