// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <spdlog/spdlog.h>

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
  command.add_option("--model", flags.model,
                     "folder of the checkpoint (default: $CACHALOT_MODEL, then the bundled model)");
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
  add_backend_flags(command, flags);
}

Expected<LoadedModel> load_model(ModelFlags& flags, bool drafts) {
  auto directory = resolve_model(flags.model);
  if (!directory) return tl::unexpected(directory.error());
  if (Status chosen = choose_backend(flags); !chosen) return tl::unexpected(chosen.error());
  ModelOptions options;
  options.backend = &flags.table;
  options.numerics = flags.numerics == "f32" ? Numerics::f32 : Numerics::released;
  options.index_keys = flags.index_keys == "owner" ? IndexKeys::owner : IndexKeys::published_slot;
  options.drafts = drafts;
  Progress progress;
  auto loaded = load_model(*directory, options, [&](std::string_view stage) {
    progress.show(fmt::format("{}: {} …", directory->string(), stage));
  });
  progress.clear();
  if (loaded) {
    for (const std::string& w : loaded->warnings) spdlog::warn("{}", w);
  }
  return loaded;
}

}  // namespace cachalot
