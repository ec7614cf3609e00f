// SPDX-License-Identifier: Apache-2.0
// --cache and --cache-budget: states that outlive a prompt, and the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/command.h"
#include "cli/options/model_options.h"
#include "engine/generate.h"
#include "kv/prefix_cache.h"
#include "kv/prefix_store.h"

namespace cachalot {

// The option --cache of any command; $CACHALOT_CACHE where it is not given. "off" in a command that can do without.
Option& add_cache_folder_flag(Command& command, std::string& folder, std::string_view help);

struct CacheFlags {
  std::string folder;              // empty: no folder
  std::string budget;              // empty: as budget_of
  bool trusted = false;            // whoever may write there
  const Option* option = nullptr;  // --cache: what it names must work, what $CACHALOT_CACHE names need not

  bool by_hand() const { return option != nullptr && option->given(); }
};

// The option --trust-cache of any command that has --cache; $CACHALOT_TRUST_CACHE where it is not given.
void add_trust_cache_flag(Command& command, bool& trusted, std::string_view help);

// Adds --cache, --trust-cache and --cache-budget.
void add_cache_flags(Command& command, CacheFlags& flags);

// Adds --cache-budget, which `what` tells about.
void add_cache_budget_flag(Command& command, std::string_view what, std::string& budget);

// Takes "off" for no folder. Some runs can neither take nor leave states: a replay, operators set back to the
// reference, another tokenizer, the released code's index keys. There the folder that $CACHALOT_CACHE names is left
// alone, with a warning, and one that --cache names is an error, Errc::usage.
Status settle_cache_folder(CacheFlags& flags, const ModelFlags& model, Prefill prefill);

// The bytes in memory that --cache-budget asks for; 0 where it does not say, for then they are a share of what is left.
std::int64_t asked_budget(const CacheFlags& flags);

// Of states in memory: what --cache-budget says; else 1 GiB, or a quarter of what the machine has left where that is
// less. Those in the folder are bounded by what it says, else by 1 GiB.
std::int64_t budget_of(const CacheFlags& flags, const MachineMemory& machine);

// Where `prefixes` point to, and what the store has to say: a line of text may be open while it does, so that it waits
// for tell().
struct PrefixPlaces {
  PrefixPlaces() = default;
  PrefixPlaces(const PrefixPlaces&) = delete;
  PrefixPlaces& operator=(const PrefixPlaces&) = delete;
  ~PrefixPlaces() { tell(); }

  Prefixes prefixes() { return {cache ? &*cache : nullptr, store ? &*store : nullptr}; }
  void tell();  // as warnings

  std::optional<PrefixCache> cache;
  std::optional<PrefixStore> store;
  std::vector<std::string> told;
};

// Makes the cache, with `memory` bytes for states in memory, and the store where a folder is given. Errors: Errc::io
// for a folder of --cache that can't be used; one of $CACHALOT_CACHE is done without, with a warning.
Status open_prefix_places(const CacheFlags& flags, const LoadedModel& loaded, std::int64_t memory,
                          PrefixPlaces& places);

}  // namespace cachalot
