// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/usable_cores.h"
#include "cli/cache_options.h"
#include "cli/default_model.h"
#include "cli/draft_options.h"
#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "cli/plan_report.h"
#include "cli/terminal.h"
#include "engine/generate.h"

namespace cachalot {
namespace {

struct PlanFlags {
  std::string model;
  std::string numerics = "released";
  std::string memory;  // empty: what the machine says
  MemoryRequest request;
  DraftFlags draft;
  CacheFlags cache;
  bool json = false;
};

Status plan(const PlanFlags& flags) {
  const auto path = resolve_model(flags.model);
  if (!path) return tl::unexpected(path.error());
  const auto files = look_at_model(*path);
  if (!files) return tl::unexpected(files.error());
  const MachineMemory machine = machine_of(flags.memory);
  MemoryRequest request = flags.request;
  const std::int64_t most = files->config.max_seq_len;
  if (request.context > most)
    return fail(Errc::usage, "--context {}: the model's context has {} positions", request.context, most);
  if (request.context == 0) request.context = most;
  if (Status good = check_draft_count(flags.draft, files->config); !good) return good;
  request.drafts = flags.draft.wanted() && files->config.n_mtp_layers > 0;
  request.prefixes = asked_budget(flags.cache);
  request.numerics = flags.numerics == "f32" ? Numerics::f32 : Numerics::released;

  // What is there is counted as it is. Where the files are missing, or can't even be mapped, the config tells.
  MemoryPlan result = plan_memory(*files, request);
  std::optional<Checkpoint> opened;
  if (files->complete() && check_memory(result, machine)) {
    auto checkpoint = Checkpoint::open(*path);
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    result = plan_memory(*files, request, &*checkpoint);
  }
  print_out(flags.json ? plan_json(*files, result, machine).dump() + "\n" : plan_text(*files, result, machine));
  std::fflush(stdout);
  return check_memory(result, machine);
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("plan", "Tell what a model takes of this machine's memory, before loading it");
  const auto flags = std::make_shared<PlanFlags>();
  flags->request = {.context = 0, .chunk = GenerateOptions{}.chunk, .threads = usable_cores()};
  command->add_option("model", flags->model,
                      "folder of the checkpoint, or its config.json by itself (default: the bundled model)");
  command->add_option("--context", flags->request.context, "positions of a sequence (default: all the model has)")
      ->transform(whole_number(1, std::uint64_t{1} << 40));
  command->add_option("--chunk", flags->request.chunk, "prompt rows run at once")
      ->transform(whole_number(1, std::uint64_t{1} << 24))
      ->capture_default_str();
  command->add_option("--sequences", flags->request.sequences, "how many run side by side")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--threads", flags->request.threads, "threads that compute")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--numerics", flags->numerics, "released or f32")
      ->check(CLI::IsMember({"released", "f32"}))
      ->capture_default_str();
  add_draft_flag(*command, flags->draft);
  add_cache_budget_flag(*command, "bytes of states that `chat` keeps in memory (default: none are counted)",
                        flags->cache.budget);
  add_memory_flag(*command, flags->memory);
  command->add_flag("--json", flags->json, "one JSON document");
  command->footer(
      "The exit code is 1 where it can't work.\n"
      "Examples: cachalot plan models/demo\n"
      "          cachalot plan models/demo/config.json --context 4096 --chunk 64 --memory 16GiB");
  command->callback([flags, &exit_code] {
    const Status works = plan(*flags);
    exit_code = works ? 0 : report(works.error());
  });
}

}  // namespace cachalot
