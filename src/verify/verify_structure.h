// SPDX-License-Identifier: Apache-2.0
// What can be said of a checkpoint without golden numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"

namespace cachalot {

struct StructureFacts {
  std::int64_t tensors = 0;
  std::int64_t shards = 0;
  std::int64_t bytes = 0;
  std::vector<ShownText> warnings;
};

// Opens the checkpoint, compares every tensor's name, shape and type with what its config asks for, and binds them all
// to the model's places. Reads no tensor. Errors: the first thing wrong.
Expected<StructureFacts> verify_structure(const std::filesystem::path& model);

struct ValueFacts {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  bool stopped = false;               // before all was read
  std::vector<std::string> problems;  // a tensor each: what it holds that no weight may be
};

// Reads every byte: decoded values must be finite, e4m3 and ue8m0 codes no NaN. `progress` gets bytes done and in all;
// once it returns false nothing more is read.
ValueFacts verify_values(const Checkpoint& checkpoint,
                         const std::function<bool(std::int64_t done, std::int64_t total)>& progress);

}  // namespace cachalot
