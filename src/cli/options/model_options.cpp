// SPDX-License-Identifier: Apache-2.0
#include "cli/options/model_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/byte_text.h"
#include "base/process_memory.h"
#include "cli/command_line/option_checks.h"
#include "cli/options/default_model.h"
#include "cli/output/terminal.h"
#include "device/cpu/simd_level.h"

namespace cachalot {

Option& add_simd_flag(Command& command, std::optional<std::string>& simd) {
  return command.group("Machine")
      .text("--simd", simd, "force a SIMD level: avx512, avx2, neon or portable (default: the best there is)")
      .placeholder("LEVEL");
}

Option& add_backend_flags(Command& command, BackendFlags& flags, std::string_view which) {
  OptionGroup& machine = command.group("Machine");
  machine.whole("-t,--threads", flags.threads, 1, 1024, "threads that compute; changes speed, never the result")
      .with_default();
  Option& backend = machine.text("--backend", flags.backend, which).placeholder("NAME");
  add_simd_flag(command, flags.simd);
  machine
      .text("--reference-op", flags.reference_operators,
            "set these operators back to the reference, to find a wrong one")
      .placeholder("NAME,...");
  return backend;
}

Status choose_backend(BackendFlags& flags) {
  auto backend = open_backend(flags.backend);
  if (!backend) return tl::unexpected(backend.error());
  std::vector<std::string> operators;
  if (flags.reference_operators) operators = split_at_commas(*flags.reference_operators);
  auto table = with_reference(*backend->backend, operators);
  if (!table) return tl::unexpected(table.error());
  flags.table = *table;
  flags.memory_space = backend->memory;
  if (flags.simd) {
    auto level = find_simd_level(*flags.simd);
    if (!level) return tl::unexpected(level.error());
    force_simd_level(*level);
  }
  return {};
}

Option& add_model_flag(Command& command, std::string& model, std::string_view help) {
  return command.group("Model").text("-m,--model", model, help).not_empty().placeholder("DIR");
}

void add_model_argument(Command& command, std::string& model, std::string_view help) {
  Option& argument = command.argument("model", model, help).not_empty();
  add_model_flag(command, model, "the same, said by name").excludes(argument);
}

void add_model_flags(Command& command, ModelFlags& flags) {
  add_model_flag(command, flags.model, "folder of the checkpoint (default: $CACHALOT_MODEL, then the bundled model)");
  command.group("Model")
      .text("--tokenizer", flags.tokenizer, "another tokenizer.json than the one beside the weights")
      .not_empty()
      .placeholder("FILE");
  command.group("Model")
      .choice("--numerics", flags.numerics, {"released", "f32"},
              "released: rounded as the released model; f32: nothing rounded but the KV")
      .with_default();
  add_memory_flag(command, flags.memory);
  add_backend_flags(command, flags, "which operators run it; see `cachalot inspect --backends`").with_default();
}

void add_index_keys_flag(Command& command, std::string& index_keys) {
  command.group("Model")
      .choice("--index-keys", index_keys, {"owner", "published-slot"},
              "owner: decode equals prefill; published-slot: a quirk of the released code (spec 10), for comparison; "
              "runs the "
              "whole prompt at once, without --chunk and drafts")
      .with_default();
}

void add_memory_flag(Command& command, std::string& memory) {
  command.group("Machine")
      .text("--memory", memory,
            "memory that may be counted on, such as 16GiB (default: what this machine and its limits leave)")
      .check(bytes_expected)
      .placeholder("BYTES");
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
  if (std::error_code none; flags.tokenizer.empty() && std::filesystem::exists(*directory / "config.json", none) &&
                            !std::filesystem::exists(*directory / "tokenizer.json", none)) {
    return fail(
        Errc::missing,
        "{}: there is no tokenizer.json, so neither text nor --ids can be run: name one that is of the same model "
        "with --tokenizer FILE",
        directory->string());
  }
  ModelOptions options;
  options.backend = &flags.table;
  options.memory = flags.memory_space;
  options.numerics = flags.numerics == "f32" ? Numerics::f32 : Numerics::released;
  options.index_keys = flags.index_keys == "owner" ? IndexKeys::owner : IndexKeys::published_slot;
  options.drafts = request.drafts;
  request.threads = flags.threads;
  Progress progress;
  const auto tell = [&](std::string_view stage) { progress.show(fmt::format("{}: {} …", directory->string(), stage)); };
  auto loaded = load_model(*directory, options, tell, request, machine_of(flags.memory), flags.tokenizer);
  progress.clear();
  if (loaded) {
    for (const ShownText& w : loaded->warnings) spdlog::warn("{}", w);
  }
  return loaded;
}

}  // namespace cachalot
