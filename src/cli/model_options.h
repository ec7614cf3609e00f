// SPDX-License-Identifier: Apache-2.0
// The options of every command that runs a model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/load_model.h"

namespace cachalot {

struct ModelFlags {
  std::string model;
  std::string numerics = "released";
  std::string index_keys = "owner";
  std::string backend = "cpu";
  std::string reference_operators;  // empty: none; else a list with commas
  std::string simd;                 // empty: the best there is
  int threads = usable_cores();
  Backend table{};  // what backend and reference_operators say, once the model is loaded
};

// Adds --model, --numerics, --index-keys, --backend, --reference-op, --simd and --threads.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// Resolves and loads the model they name, with progress; warnings go to standard error. The model's backend is
// flags.table.
Expected<LoadedModel> load_model(ModelFlags& flags, bool drafts = false);

}  // namespace cachalot
