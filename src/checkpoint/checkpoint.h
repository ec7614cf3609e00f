// SPDX-License-Identifier: Apache-2.0
// A model's folder: config.json and its tensors, in one model.safetensors or in shards with
// model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/seeded_hash.h"
#include "checkpoint/config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"

namespace cachalot {

// What a folder says of its tensors before any of its shards is opened.
struct FolderTexts {
  LoadedConfig config;
  std::optional<ShardIndex> index;  // none: there is one file of all tensors, or nothing
};

class Checkpoint {
 public:
  // Maps every shard and reads config, index and headers; no tensor is read. Whether the tensors are those the config
  // wants is asked of check_tensors (expected_tensors.h). Errors name the file.
  static Expected<Checkpoint> open(const std::filesystem::path& directory);
  static Expected<Checkpoint> open(const std::filesystem::path& directory, FolderTexts texts);  // read before
  // Errors: those of config and index, naming the file.
  static Expected<FolderTexts> read_texts(const std::filesystem::path& directory);

  const std::filesystem::path& directory() const { return directory_; }
  const Config& config() const { return loaded_.config; }
  const LoadedConfig& loaded_config() const { return loaded_; }

  const TensorInfo* find(std::string_view name) const;              // null: there is none
  std::span<const TensorInfo> tensors() const { return tensors_; }  // shards by name, each in the order of its bytes
  std::span<const std::string> shards() const { return shard_names_; }
  std::int64_t bytes() const { return bytes_; }                      // of all tensors
  std::int64_t copied_bytes() const { return copied_bytes_; }        // of tensors that were not aligned (safetensors.h)
  std::span<const ShownText> warnings() const { return warnings_; }  // for the caller to log

 private:
  Checkpoint() = default;
  Status open_shards(std::span<const std::string> names);
  Status collect(const ShardIndex* index);

  std::filesystem::path directory_;
  LoadedConfig loaded_;
  std::vector<std::string> shard_names_;
  std::vector<SafetensorsFile> files_;
  std::vector<TensorInfo> tensors_;
  HashMap<std::string_view, std::size_t> place_;  // name, in tensors_, to its place there
  std::int64_t bytes_ = 0, copied_bytes_ = 0;
  std::vector<ShownText> warnings_;
};

}  // namespace cachalot
