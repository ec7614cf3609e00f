// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/usable_cores.h"
#include "cli/options/cache_options.h"
#include "cli/options/default_model.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "cli/options/prefill_options.h"
#include "cli/output/plan_report.h"
#include "cli/output/terminal.h"
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
  auto files = look_at_model(*path);
  if (!files) return tl::unexpected(files.error());
  const MachineMemory machine = machine_of(flags.memory);
  MemoryRequest request = flags.request;
  const std::int64_t most = files->config.max_seq_len;
  if (request.context > most)
    return fail(Errc::usage, "--context {}: the model's context has {} positions", request.context, most);
  // What `cachalot run` asks for where nothing else is said: its tokens behind a prompt that fills a step.
  if (request.context == 0) request.context = std::min(most, request.chunk + GenerateOptions{}.max_tokens);
  if (Status good = check_draft_count(flags.draft, files->config); !good) return good;
  request.drafts = flags.draft.wanted() && files->config.n_mtp_layers > 0;
  request.prefixes = asked_budget(flags.cache);
  request.numerics = flags.numerics == "f32" ? Numerics::f32 : Numerics::released;

  // What is there is counted as it is. Where the files are missing, or can't even be mapped, the config tells.
  MemoryPlan result = plan_memory(*files, request);
  std::optional<Checkpoint> opened;
  if (files->complete() && check_memory(result, machine)) {
    auto checkpoint = open_checkpoint(*files);
    if (!checkpoint) return tl::unexpected(checkpoint.error());
    result = plan_memory(*files, request, &*checkpoint);
  }
  print_out(flags.json ? plan_json(*files, result, machine).dump() + "\n" : plan_text(*files, result, machine));
  std::fflush(stdout);
  return check_memory(result, machine);
}

}  // namespace

void add_plan_command(Command& program) {
  Command& command = program.add_command("plan", "Tell what a model takes of this machine's memory, before loading it");
  const auto flags = std::make_shared<PlanFlags>();
  flags->request = {.context = 0, .chunk = GenerateOptions{}.chunk, .threads = usable_cores()};
  add_model_argument(command, flags->model,
                     "folder of the checkpoint, or its config.json by itself (default: the bundled model)");
  command.group("Model").choice("--numerics", flags->numerics, {"released", "f32"}, "released or f32").with_default();
  OptionGroup& work = command.group("Work");
  work.whole(
      "-c,--context", flags->request.context, 1, std::uint64_t{1} << 40,
      "positions of a sequence, prompt and answer (default: a prompt of --chunk tokens and the 256 that `run` makes)");
  work.whole("--sequences", flags->request.sequences, 1, 1024, "how many run side by side").with_default();
  add_draft_flag(command, flags->draft);
  add_chunk_flag(command, flags->request.chunk);
  add_cache_budget_flag(command, "bytes of states that `chat` keeps in memory (default: none are counted)",
                        flags->cache.budget);
  command.group("Machine")
      .whole("-t,--threads", flags->request.threads, 1, 1024, "threads that compute")
      .with_default();
  add_memory_flag(command, flags->memory);
  command.group("Output").flag("--json", flags->json, "one JSON document");
  command.notes("The exit code is 1 where it can't work.");
  command.examples(
      {"cachalot plan models/demo", "cachalot plan models/demo/config.json --context 4096 --chunk 64 --memory 16GiB"});
  command.runs([flags]() -> Expected<int> {
    const Status works = plan(*flags);
    if (!works) return tl::unexpected(works.error());
    return 0;
  });
}

}  // namespace cachalot
