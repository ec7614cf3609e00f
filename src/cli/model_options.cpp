// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <spdlog/spdlog.h>

#include "cli/default_model.h"
#include "cli/terminal.h"

namespace cachalot {

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
  command.add_option("--backend", flags.backend, "which operators run it; see `cachalot inspect --backends`")
      ->check(CLI::IsMember({"reference"}))
      ->capture_default_str();
}

Expected<LoadedModel> load_model(const ModelFlags& flags, bool drafts) {
  auto directory = resolve_model(flags.model);
  if (!directory) return tl::unexpected(directory.error());
  ModelOptions options;
  options.backend = &reference_backend();
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
