// SPDX-License-Identifier: Apache-2.0
// Checkpoints with seeded random weights, of any shape a config can state: for tests and benchmarks where the released
// weights are not at hand. The released layout and formats; scales are such that activations keep their size through
// the layers: a linear's weights have a deviation of 1/sqrt(inputs), norm weights lie near 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/expected.h"

namespace cachalot {

struct MakeCheckpointOptions {
  std::filesystem::path config;     // copied as config.json, byte for byte
  std::filesystem::path out;        // made where it is not there
  std::filesystem::path tokenizer;  // copied as tokenizer.json; empty: none
  std::uint64_t seed = 1;           // the same seed gives the same bytes of every tensor, however many shards there are
  std::int64_t shards = 0;          // 0: as many as keep each under 4 GiB
  bool force = false;               // write into a folder that has files; an older model in it is replaced
  // Called after every tensor; returning false stops with Errc::stopped.
  std::function<bool(std::int64_t bytes_done, std::int64_t bytes_total)> progress;
};

struct MadeCheckpoint {
  std::int64_t tensors = 0;
  std::int64_t shards = 0;
  std::int64_t bytes = 0;  // of all tensors
};

// Errors: Errc::usage for a folder that is not empty, or more shards than tensors; Errc::io and Errc::memory (disk
// space) name the file; those of parse_config.
Expected<MadeCheckpoint> make_checkpoint(const MakeCheckpointOptions& options);

}  // namespace cachalot
