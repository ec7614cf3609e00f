// SPDX-License-Identifier: Apache-2.0
// What `cachalot inspect` tells about a checkpoint: gathered once, written as text or as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/expected_tensors.h"

namespace cachalot {

struct Inspection {
  struct LayerRow {
    std::string name;  // "layers.3", "mtp.0"
    std::int64_t ratio = 0;
    std::vector<std::string> roles;
    std::int64_t kv_source = -1, index_source = -1;  // -1: none
    std::int64_t bytes = 0;
  };
  struct PartRow {
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
    std::map<std::string, std::int64_t> bytes_by_type;
  };
  struct KindRow {  // tensors that differ only by a number in their name: "layers.*.attn.wq_a.weight"
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };

  const Checkpoint& checkpoint;
  std::vector<LayerRow> layers;
  std::array<PartRow, part_count> parts;
  PartRow unused;  // tensors nobody asks for
  std::vector<KindRow> kinds;
};

// `checkpoint` must outlive the result. Tensors that are missing or of another shape are check_tensors' business: here
// what is there is counted.
Inspection inspect(const Checkpoint& checkpoint);

std::string inspection_text(const Inspection& inspection, int columns);
std::string tensor_list_text(const Checkpoint& checkpoint, int columns);  // --tensors: one line each
Json inspection_json(const Inspection& inspection, bool tensors);

}  // namespace cachalot
