// SPDX-License-Identifier: Apache-2.0
// The options of every command that runs a model.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/usable_cores.h"
#include "engine/load_model.h"

namespace cachalot {

// Who computes.
struct BackendFlags {
  std::string backend = "cpu";
  std::optional<std::string> reference_operators;  // a list with commas
  std::optional<std::string> simd;                 // none: the best there is
  int threads = usable_cores();
  Backend table{};  // what backend and reference_operators say, once it was chosen
};

// Adds --backend, --reference-op, --simd and --threads.
void add_backend_flags(CLI::App& command, BackendFlags& flags);

// Makes flags.table, and forces the SIMD level.
Status choose_backend(BackendFlags& flags);

struct ModelFlags : BackendFlags {
  std::string model;
  std::string numerics = "released";
  std::string index_keys = "owner";
  std::string memory;
};

// Adds --memory: so many bytes may be used, instead of what the machine has left.
void add_memory_flag(CLI::App& command, std::string& memory);

// What the machine has left, or what --memory says and this process has not taken yet.
MachineMemory machine_of(const std::string& memory);

// Adds --model, --numerics, --index-keys, --memory and those of add_backend_flags.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// Resolves and loads the model they name, with progress; warnings go to standard error. The model's backend is
// flags.table. `request`: what it is wanted for, so that memory can be found wanting before; numerics and threads are
// the flags'.
Expected<LoadedModel> load_model(ModelFlags& flags, MemoryRequest request = {});

}  // namespace cachalot
