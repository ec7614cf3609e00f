// SPDX-License-Identifier: Apache-2.0
// What can be told of a model before any of its shards is mapped: its config, and how large its files are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"

namespace cachalot {

struct ModelFiles {
  std::filesystem::path path;  // as it was given: the folder, or a config.json by itself
  Config config;
  bool indexed = false;  // model.safetensors.index.json lists the shards
  std::int64_t shards = 0;
  std::vector<std::string> absent;   // shards that are listed and not there
  std::int64_t shard_bytes = 0;      // of those that are there
  std::int64_t header_bytes = 0;     // of the shard whose header is longest
  std::int64_t tokenizer_bytes = 0;  // of tokenizer.json; 0 where there is none
  std::optional<FolderTexts> texts;  // of a folder, until it is opened

  // Whether there is anything to open. A config by itself, or one with an index of shards still to come, can be planned
  // for.
  bool complete() const { return shards > 0 && absent.empty(); }
};

// Errors: those of the config and of the index, naming the file.
Expected<ModelFiles> look_at_model(const std::filesystem::path& model);

// Opens the folder by the texts that were read then, and takes them along.
Expected<Checkpoint> open_checkpoint(ModelFiles& files);

}  // namespace cachalot
