// SPDX-License-Identifier: Apache-2.0
#include "cli/options/cache_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/byte_text.h"
#include "cli/command_line/option_checks.h"
#include "engine/state_key.h"

namespace cachalot {

namespace {
constexpr std::int64_t usual_budget = std::int64_t{1} << 30;
}

Option& add_cache_folder_flag(Command& command, std::string& folder, std::string_view help) {
  return command.group("Kept states")
      .text("--cache", folder, help)
      .not_empty()
      .environment("CACHALOT_CACHE")
      .placeholder("DIR");
}

void add_trust_cache_flag(Command& command, bool& trusted, std::string_view help) {
  command.group("Kept states")
      .flag("--trust-cache", trusted, help)
      .check([](const std::string& text) {  // of the environment; on the line it has no value
        return text.empty() || text == "1" ? std::string() : std::string("expected 1, or nothing");
      })
      .environment("CACHALOT_TRUST_CACHE");
}

void add_cache_flags(Command& command, CacheFlags& flags) {
  flags.option = &add_cache_folder_flag(
      command, flags.folder,
      "folder of kept states, for prompts that begin as earlier ones; off: none, whatever CACHALOT_CACHE says");
  add_trust_cache_flag(command, flags.trusted,
                       "use the folder of --cache also where it is another user's or others may write to it: a state "
                       "that they made up changes what the model says");
  add_cache_budget_flag(command,
                        "bytes of states to keep in memory, and in the folder: those used longest ago go (default: 1 "
                        "GiB each, or in memory a quarter of what is left)",
                        flags.budget);
}

void add_cache_budget_flag(Command& command, std::string_view what, std::string& budget) {
  command.group("Kept states").text("--cache-budget", budget, what).check(bytes_expected).placeholder("BYTES");
}

Status settle_cache_folder(CacheFlags& flags, const ModelFlags& model, Prefill prefill) {
  if (flags.folder == "off") flags.folder.clear();
  if (flags.folder.empty()) return {};
  const char* other = nullptr;
  if (prefill == Prefill::replay) {
    other = "--prefill replay: a replay neither takes nor leaves exact states";
  } else if (model.reference_operators) {
    other = "--reference-op: states would pass for the backend's own";
  } else if (!model.tokenizer.empty()) {
    other = "--tokenizer: states would pass for those of the model's own";
  } else if (model.index_keys == "published-slot") {
    other = "--index-keys published-slot: it is defined for one whole prompt (spec 10)";
  }
  if (other == nullptr) return {};
  if (flags.by_hand()) {
    return fail(Errc::usage, "--cache {} does not go with {}", flags.folder, other);
  }
  spdlog::warn("CACHALOT_CACHE is left alone with {}", other);
  flags.folder.clear();
  return {};
}

std::int64_t asked_budget(const CacheFlags& flags) { return parse_bytes(flags.budget).value_or(0); }

std::int64_t budget_of(const CacheFlags& flags, const MachineMemory& machine) {
  if (const auto bytes = parse_bytes(flags.budget)) return *bytes;
  return machine.available ? std::min(usual_budget, machine.available->bytes / 4) : usual_budget;
}

void PrefixPlaces::tell() {
  for (const std::string& line : told) spdlog::warn("{}", line);
  told.clear();
}

Status open_prefix_places(const CacheFlags& flags, const LoadedModel& loaded, std::int64_t memory,
                          PrefixPlaces& places) {
  const Model& model = loaded.model;
  places.cache.emplace(PrefixCacheOptions{.budget = memory, .mode = state_mode(model)});
  if (flags.folder.empty()) return {};
  auto key = state_key(model, *loaded.checkpoint);
  if (!key) return tl::unexpected(key.error());
  auto store = PrefixStore::open({.folder = flags.folder,
                                  .key = std::move(*key),
                                  .pools = model.state_pools(),
                                  .budget = parse_bytes(flags.budget).value_or(usual_budget),
                                  .tell = [&places](std::string_view line) { places.told.emplace_back(line); },
                                  .trusted = flags.trusted});
  if (!store && !flags.by_hand()) {
    spdlog::warn("CACHALOT_CACHE is done without: {}", store.error().message);
    return {};
  }
  if (!store) return tl::unexpected(store.error());
  places.store.emplace(std::move(*store));
  return {};
}

}  // namespace cachalot
