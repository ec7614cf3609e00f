// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/byte_text.h"
#include "cli/option_checks.h"
#include "engine/state_key.h"

namespace cachalot {

CLI::Option* add_cache_folder_flag(CLI::App& command, std::string& folder) {
  return command.add_option("--cache", folder, "folder of kept states, for prompts that begin as earlier ones")
      ->check(not_empty())
      ->envname("CACHALOT_CACHE")
      ->type_name("DIR");
}

void add_cache_flags(CLI::App& command, CacheFlags& flags) {
  add_cache_folder_flag(command, flags.folder);
  command
      .add_option("--cache-budget", flags.budget,
                  "bytes of states to keep in memory, and in the folder (default: 1 GiB, or a quarter of the memory "
                  "that is left)")
      ->check([](const std::string& text) {
        return parse_bytes(text) ? std::string() : fmt::format("{:?} is no number of bytes, such as 16GiB", text);
      })
      ->type_name("BYTES");
}

std::int64_t budget_of(const CacheFlags& flags, const MachineMemory& machine) {
  if (const auto bytes = parse_bytes(flags.budget)) return *bytes;
  constexpr std::int64_t usual = std::int64_t{1} << 30;
  return machine.available ? std::min(usual, machine.available->bytes / 4) : usual;
}

Status open_prefix_places(const CacheFlags& flags, const ModelFlags& model_flags, const Model& model,
                          std::int64_t memory, PrefixPlaces& places) {
  places.cache.emplace(PrefixCacheOptions{.budget = memory, .mode = state_mode(model)});
  if (flags.folder.empty()) return {};
  if (model_flags.reference_operators) {
    return fail(Errc::usage, "--cache does not go with --reference-op: states would pass for the backend's own");
  }
  auto key = state_key(model);
  if (!key) return tl::unexpected(key.error());
  auto store = PrefixStore::open({.folder = flags.folder,
                                  .key = std::move(*key),
                                  .shape = model.state_shape(),
                                  .budget = budget_of(flags, machine_of(model_flags.memory)),
                                  .tell = [](std::string_view line) { spdlog::warn("{}", line); }});
  if (!store) return tl::unexpected(store.error());
  places.store.emplace(std::move(*store));
  return {};
}

}  // namespace cachalot
