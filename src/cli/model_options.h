// SPDX-License-Identifier: Apache-2.0
// The options of every command that runs a model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "engine/load_model.h"

namespace cachalot {

struct ModelFlags {
  std::string model;
  std::string numerics = "released";
  std::string index_keys = "owner";
  std::string backend = "reference";
};

// Adds --model, --numerics, --index-keys and --backend.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// Resolves and loads the model they name, with progress; warnings go to standard error.
Expected<LoadedModel> load_model(const ModelFlags& flags, bool drafts = false);

}  // namespace cachalot
