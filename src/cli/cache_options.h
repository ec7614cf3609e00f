// SPDX-License-Identifier: Apache-2.0
// --cache and --cache-budget: states that outlive a prompt, and the process.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/model_options.h"
#include "engine/generate.h"
#include "kv/prefix_cache.h"
#include "kv/prefix_store.h"

namespace cachalot {

// The option --cache of any command; $CACHALOT_CACHE where it is not given.
CLI::Option* add_cache_folder_flag(CLI::App& command, std::string& folder);

struct CacheFlags {
  std::string folder;  // empty: no folder
  std::string budget;  // empty: as budget_of
};

// Adds --cache and --cache-budget.
void add_cache_flags(CLI::App& command, CacheFlags& flags);

// What --cache-budget says; else 1 GiB, or a quarter of what the machine has left where that is less.
std::int64_t budget_of(const CacheFlags& flags, const MachineMemory& machine);

// Where `prefixes` point to.
struct PrefixPlaces {
  std::optional<PrefixCache> cache;
  std::optional<PrefixStore> store;
  Prefixes prefixes() { return {cache ? &*cache : nullptr, store ? &*store : nullptr}; }
};

// Makes the cache, with `memory` bytes for states in memory, and the store where a folder is given. What the store
// drops is logged as a warning. Errors: Errc::io for a folder that can't be used; Errc::usage with operators that were
// set back to the reference, whose states would pass for the backend's own.
Status open_prefix_places(const CacheFlags& flags, const ModelFlags& model_flags, const Model& model,
                          std::int64_t memory, PrefixPlaces& places);

}  // namespace cachalot
