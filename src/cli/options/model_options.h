// SPDX-License-Identifier: Apache-2.0
// The options of every command that runs a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/usable_cores.h"
#include "cli/command_line/command.h"
#include "engine/load_model.h"

namespace cachalot {

// Who computes.
struct BackendFlags {
  std::string backend = "cpu";
  std::optional<std::string> reference_operators;  // a list with commas
  std::optional<std::string> simd;                 // none: the best there is
  int threads = usable_cores();
  Backend table{};                      // what backend and reference_operators say, once it was chosen
  MemorySpace* memory_space = nullptr;  // of its device
};

// Adds --threads, --backend (`which` says what it is for), --reference-op and --simd.
Option& add_backend_flags(Command& command, BackendFlags& flags, std::string_view which);
Option& add_simd_flag(Command& command, std::optional<std::string>& simd);

// Makes flags.table, and forces the SIMD level.
Status choose_backend(BackendFlags& flags);

struct ModelFlags : BackendFlags {
  std::string model;
  std::string tokenizer;  // empty: the one beside the weights
  std::string numerics = "released";
  std::string index_keys = "owner";
  std::string memory;
};

// Adds --model alone.
Option& add_model_flag(Command& command, std::string& model, std::string_view help);

// Adds the argument MODEL, and --model as another way to say the same; nothing in `model` when neither was given.
// Commands about a model as such take it so.
void add_model_argument(Command& command, std::string& model, std::string_view help);

// Adds --memory: so many bytes may be used, instead of what the machine has left.
void add_memory_flag(Command& command, std::string& memory);

// What the machine has left, or what --memory says and this process has not taken yet.
MachineMemory machine_of(const std::string& memory);

// Adds --model, --tokenizer, --numerics, --memory and those of add_backend_flags.
void add_model_flags(Command& command, ModelFlags& flags);

// Adds --index-keys. Of a command that runs one whole prompt and then single steps: only there does it differ (spec
// 10).
void add_index_keys_flag(Command& command, std::string& index_keys);

// Resolves and loads the model they name, with progress; warnings go to standard error. The model's backend is
// flags.table. `request`: what it is wanted for, so that memory can be found wanting before; numerics and threads are
// the flags'.
Expected<LoadedModel> load_model(ModelFlags& flags, MemoryRequest request = {});

}  // namespace cachalot
