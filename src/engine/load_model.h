// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/machine_memory.h"
#include "engine/memory_plan.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

// What runs text: a model, and the tokenizer that came with it.
struct LoadedModel {
  ModelFiles files;  // as they were found before
  Tokenizer tokenizer;
  Model model;
  std::vector<TokenId> reserved;                 // ids that no answer may hold (reserved_tokens.h)
  std::vector<ShownText> warnings;               // keys and tensors that nothing uses; the caller logs them
  std::shared_ptr<const Checkpoint> checkpoint;  // that the weights are of
};

// Opens a checkpoint's folder, checks every tensor against its config, and binds it. `stage` is told what is being
// done; `request` is what the model is wanted for, as far as it is known by now; `tokenizer` is a tokenizer.json, or
// its folder, where the one beside the weights is not to be taken. Errors: Errc::memory before anything is mapped where
// the machine does not have what that takes (memory_plan.h); else the first thing that is missing or wrong, with file,
// name, found and expected.
Expected<LoadedModel> load_model(const std::filesystem::path& directory, const ModelOptions& options,
                                 const std::function<void(std::string_view)>& stage = {},
                                 const MemoryRequest& request = {}, const MachineMemory& machine = machine_memory(),
                                 const std::filesystem::path& tokenizer = {});

// No text of more bytes fits into the model's context, whatever its tokens are.
std::size_t most_prompt_bytes(const LoadedModel& loaded);

// For who knows all of the request now, and before the first step: sets the scratch for it aside, so that no step has
// to ask for more. Errors: Errc::memory where the machine does not have what is still to be taken.
Status set_aside(const LoadedModel& loaded, Context& context, const MemoryRequest& request,
                 const MachineMemory& machine = machine_memory());

}  // namespace cachalot
