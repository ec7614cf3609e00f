// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace cachalot {

struct ShardIndex {
  struct Entry {
    std::string tensor;
    std::size_t shard;  // in `shards`
  };
  std::vector<Entry> entries;              // in the order of the file
  std::vector<std::string> shards;         // file names without folders, each once, ascending
  std::optional<std::int64_t> total_size;  // bytes of all tensors, where the file says

  const std::string& shard_of(const Entry& entry) const { return shards[entry.shard]; }
};

// Any text gives an index or an error (Errc::format): nothing in it is nested deeper than 8 levels. A shard named with
// a folder is refused: it could lead anywhere.
Expected<ShardIndex> parse_shard_index(std::string_view text, std::string_view what);

// Such a file, of at most this many bytes: a million tensors of long names. Errors: those of MappedFile::open and of
// parse_shard_index; Errc::memory where there is no room for what it lists.
inline constexpr std::size_t most_index_bytes = std::size_t{64} << 20;
Expected<ShardIndex> load_shard_index(const std::filesystem::path& path);

// The file this engine writes; tensors are listed by name.
std::string shard_index_text(const std::map<std::string, std::string>& shard_of_tensor, std::int64_t total_size);

}  // namespace cachalot
