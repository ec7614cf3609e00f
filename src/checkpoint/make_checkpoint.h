// SPDX-License-Identifier: Apache-2.0
// Checkpoints with seeded random weights, of any shape a config can state: for tests and benchmarks where the released
// weights are not at hand. The released layout and formats; scales are such that activations keep their size through
// the layers: a linear's weights have a deviation of 1/sqrt(inputs), norm weights lie near 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "checkpoint/planted.h"

namespace cachalot {

// What of a sparse checkpoint has content. Everything else is a hole: it reads as zero and takes no disk. A layer of
// zeros adds nothing to the residual stream, so a forward runs through it.
struct SparseFill {
  // Every tensor of these layers, but their Engram tables; draft stage s is n_layers + s. With the first of them comes
  // what a forward needs to have something to compute: embedding, head, and every layer's norms and hyper-connections.
  std::vector<std::int64_t> layers;
  // Of each Engram layer, in the config's order: rows of its table. Empty: none, of no layer.
  std::vector<std::vector<std::int64_t>> engram_rows;
};

struct MakeCheckpointOptions {
  std::filesystem::path config = {};     // copied as config.json, byte for byte; empty: the released shape
  std::filesystem::path out = {};        // made where it is not there
  std::filesystem::path tokenizer = {};  // copied as tokenizer.json; empty: none
  std::uint64_t seed = 1;        // the same seed gives the same bytes of every tensor, however many shards there are
  std::int64_t shards = 0;       // 0: as few as keep each under 4 GiB, but where one tensor is larger
  bool force = false;            // write into a folder that has files; an older model in it is replaced
  int threads = usable_cores();  // changes speed, never the bytes
  Plants plants = {};
  std::optional<SparseFill> sparse = {};  // nothing: every tensor has content
  // Called while tensors are written; returning false stops with Errc::stopped. `total`: what is to be written in all.
  std::function<bool(std::int64_t bytes_done, std::int64_t bytes_total)> progress = {};
};

struct MadeCheckpoint {
  std::int64_t tensors = 0;
  std::int64_t shards = 0;
  std::int64_t bytes = 0;    // of all tensors
  std::int64_t written = 0;  // of those that have content
};

// The text of options.config, and what messages call it.
Expected<std::string> shape_text(const MakeCheckpointOptions& options);

// Errors: Errc::usage for a folder that is not empty, more shards than tensors, a layer or row that is not there;
// Errc::io for disk space that does not suffice and, where sparse, a file system that can't keep holes; those of
// parse_config. They name the file.
Expected<MadeCheckpoint> make_checkpoint(const MakeCheckpointOptions& options);

}  // namespace cachalot
