// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <cstdint>
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
    std::string shard;  // a file name without folders
  };
  std::vector<Entry> entries;              // in the order of the file
  std::optional<std::int64_t> total_size;  // bytes of all tensors, where the file says

  std::vector<std::string> shards() const;  // each once, by name
};

// Any text gives an index or an error (Errc::format): nothing in it is nested deeper than 8 levels. A shard named with
// a folder is refused: it could lead anywhere.
Expected<ShardIndex> parse_shard_index(std::string_view text, std::string_view what);

// The file this engine writes; tensors are listed by name.
std::string shard_index_text(const std::map<std::string, std::string>& shard_of_tensor, std::int64_t total_size);

}  // namespace cachalot
