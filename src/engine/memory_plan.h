// SPDX-License-Identifier: Apache-2.0
// What a model will take of a machine's memory, part by part, before anything of it is loaded; and whether that can
// work. Weights are mapped files: memory holds as many of their pages as it has room for, and what it has no room for
// is read from disk whenever it is wanted. Everything else is the process's own, and must fit.
#pragma once

#include <array>
#include <cstdint>

#include "base/machine_memory.h"
#include "checkpoint/checkpoint.h"
#include "engine/model_files.h"
#include "kv/state_bytes.h"
#include "model/model.h"

namespace cachalot {

// What is to be done with the model. As it stands: the least that any use of it takes.
struct MemoryRequest {
  std::int64_t context = 1;    // positions of each sequence
  std::int64_t chunk = 1;      // prompt rows a step
  bool all_logits = false;     // of every row of a chunk, not of the prompt's last row alone
  std::int64_t sequences = 1;  // that run at once
  std::int64_t threads = 1;
  Numerics numerics = Numerics::released;
  bool drafts = false;
  std::int64_t prefixes = 0;  // bytes of states that a prefix cache may hold
};

// Weights that are read alike.
enum class WeightGroup : std::uint8_t {
  dense,    // whole, by every token: all but the rows of the embedding that other tokens want
  experts,  // some of them
  engram,   // some rows of the tables; Engram's matrices are dense
  drafts,   // by every draft block
  vision
};
constexpr std::size_t weight_groups = 5;
const char* name(WeightGroup group);

struct WeightsPlan {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  std::int64_t step_bytes = 0;  // of them, what a step of one row reads; of drafts, what a draft block does
  bool used = true;             // by what is to be done
};

// The process's own memory.
struct OwnMemory {
  StateBytes state;           // of all sequences together
  std::int64_t scratch = 0;   // of the largest step
  std::int64_t prefixes = 0;  // as the request says
  std::int64_t logits = 0;    // and what sampling from them takes
  std::int64_t tensors = 0;   // the table of names, shapes and places, and the weights bound to it
  std::int64_t copies = 0;    // tensors that are not as they are read, by place or type; known once they were opened
  std::int64_t tokenizer = 0;
  std::int64_t program = 0;
  std::int64_t loading = 0;  // the peak before any state is there: texts of the headers, of the index, of the tokenizer

  std::int64_t running() const {
    return state.all() + prefixes + scratch + logits + tensors + copies + tokenizer + program;
  }
  std::int64_t peak() const { return std::max(running(), loading); }
};

struct MemoryPlan {
  MemoryRequest request;
  std::array<WeightsPlan, weight_groups> weights;  // by WeightGroup
  OwnMemory own;
  std::int64_t mapped = 0;  // address space that files take

  const WeightsPlan& of(WeightGroup group) const { return weights[static_cast<std::size_t>(group)]; }
  std::int64_t used_bytes() const;  // of weights, in all groups that are used
  std::int64_t step_bytes() const;  // what a step of one row reads of them
};

// `opened`: the bytes of the tensors as they are; without it, as the config says in the released types. A context
// longer than the model's counts as the model's.
MemoryPlan plan_memory(const ModelFiles& files, const MemoryRequest& request, const Checkpoint* opened = nullptr);

// How many bytes of each group's weights stay in memory where `room` bytes are left for them: what is read most often
// for its size comes first. None for groups that are not used.
std::array<std::int64_t, weight_groups> resident_bytes(const MemoryPlan& plan, std::int64_t room);

// Errors: Errc::memory where it can't work, with what is needed, what is there, who says so, and what needs less.
Status check_memory(const MemoryPlan& plan, const MachineMemory& machine);

}  // namespace cachalot
