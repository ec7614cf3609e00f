// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/byte_text.h"
#include "base/process_memory.h"
#include "cli/default_model.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "device/cpu/simd_level.h"

namespace cachalot {

void add_backend_flags(CLI::App& command, BackendFlags& flags) {
  command.add_option("--backend", flags.backend, "which operators run it; see `cachalot inspect --backends`")
      ->capture_default_str();
  command
      .add_option("--reference-op", flags.reference_operators,
                  "set these operators back to the reference, to find a wrong one")
      ->type_name("NAME,NAME,...");
  command.add_option("--simd", flags.simd,
                     "force a SIMD level: avx512, avx2, neon or portable (default: the best there is)");
  command.add_option("--threads", flags.threads, "threads that compute; changes speed, never the result")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
}

Status choose_backend(BackendFlags& flags) {
  auto backend = find_backend(flags.backend);
  if (!backend) return tl::unexpected(backend.error());
  std::vector<std::string> operators;
  if (flags.reference_operators) operators = split_at_commas(*flags.reference_operators);
  auto table = with_reference(**backend, operators);
  if (!table) return tl::unexpected(table.error());
  flags.table = *table;
  if (flags.simd) {
    auto level = find_simd_level(*flags.simd);
    if (!level) return tl::unexpected(level.error());
    force_simd_level(*level);
  }
  return {};
}

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("--model", flags.model, "folder of the checkpoint (default: $CACHALOT_MODEL, then the bundled model)")
      ->check(not_empty())
      ->type_name("DIR");
  command
      .add_option("--numerics", flags.numerics,
                  "released: rounded as the released model; f32: nothing rounded but the KV")
      ->check(CLI::IsMember({"released", "f32"}))
      ->capture_default_str();
  command
      .add_option(
          "--index-keys", flags.index_keys,
          "owner: decode equals prefill; published-slot: a quirk of the released code (spec 10), for comparison")
      ->check(CLI::IsMember({"owner", "published-slot"}))
      ->capture_default_str();
  add_memory_flag(command, flags.memory);
  add_backend_flags(command, flags);
}

void add_memory_flag(CLI::App& command, std::string& memory) {
  command
      .add_option("--memory", memory,
                  "memory that may be counted on, such as 16GiB (default: what this machine and its limits leave)")
      ->check([](const std::string& text) {
        return parse_bytes(text) ? std::string() : fmt::format("{:?} is no number of bytes, such as 16GiB", text);
      })
      ->type_name("BYTES");
}

MachineMemory machine_of(const std::string& memory) {
  MachineMemory machine = machine_memory();
  if (const auto bytes = parse_bytes(memory)) {
    machine.available = MemoryBound{std::max<std::int64_t>(0, *bytes - process_memory().anonymous), "--memory"};
  }
  return machine;
}

Expected<LoadedModel> load_model(ModelFlags& flags, MemoryRequest request) {
  auto directory = resolve_model(flags.model);
  if (!directory) return tl::unexpected(directory.error());
  if (Status chosen = choose_backend(flags); !chosen) return tl::unexpected(chosen.error());
  ModelOptions options;
  options.backend = &flags.table;
  options.numerics = flags.numerics == "f32" ? Numerics::f32 : Numerics::released;
  options.index_keys = flags.index_keys == "owner" ? IndexKeys::owner : IndexKeys::published_slot;
  options.drafts = request.drafts;
  request.threads = flags.threads;
  Progress progress;
  const auto tell = [&](std::string_view stage) { progress.show(fmt::format("{}: {} …", directory->string(), stage)); };
  auto loaded = load_model(*directory, options, tell, request, machine_of(flags.memory));
  progress.clear();
  if (loaded) {
    for (const std::string& w : loaded->warnings) spdlog::warn("{}", w);
  }
  return loaded;
}

}  // namespace cachalot
