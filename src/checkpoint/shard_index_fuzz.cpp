// SPDX-License-Identifier: Apache-2.0
// Any text gives an index or an error, and no shard of an index has a folder in its name.
#include <cstdint>

#include "base/check.h"
#include "checkpoint/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cachalot;
  const auto index = parse_shard_index(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!index) return 0;
  for (const std::string& shard : index->shards)
    check(shard.find('/') == std::string::npos, "a shard lies beside its index");
  return 0;
}
