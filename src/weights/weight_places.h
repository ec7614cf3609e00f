// SPDX-License-Identifier: Apache-2.0
// Where weights lie. A place changes how soon a weight can be read, never a result.
//
// Places there are: mapped_places.h, the files of a checkpoint; shape_places.h, nowhere at all. Room is left for these:
// - resident: place() reads a tensor into memory of its own, on the node whose cores will read it; Errc::memory;
// - streamed: what every row reads is resident. Of an expert or an Engram table place() tells the format and the shape,
//   with `data` null: its bytes come with a lease. expect_rows() starts reading, lease_…() waits for what is not there
//   yet; of a table an address for every row is set aside, and memory for those that are leased;
// - on a device: place() uploads into the device's MemorySpace, and may permute the bytes on the way as its backend
//   likes to read them (the same size, one to one);
// - synthetic: numbers made from name and seed, for shapes that no disk holds;
// - several at once: one place that hands each role on to another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/expected.h"
#include "checkpoint/safetensors.h"
#include "tensor/packed_rows.h"
#include "tensor/weight.h"

namespace cachalot {

// What a tensor is read for, which decides where it should lie; its scales have its role.
enum class WeightRole : std::uint8_t {
  dense,         // a matrix that every row reads whole
  expert,        // a routed expert's: read by the rows that chose it
  engram_table,  // rows of n-grams: a few of very many, known when a step begins
  embedding,     // rows of tokens
  head,          // a matrix of all tokens, read by rows that want logits
  norm,          // read as bf16 or f32,
  parameter,     // and these, sinks and biases and hyper-connections, as f32
};

// What a step may read for as long as this lives; on a device until the operators queued by then are done.
struct ExpertLease {
  std::span<const ExpertWeights> experts;  // by number; others than those asked for may have no bytes
  std::shared_ptr<const void> held;        // by whom, where anybody has to
};
struct RowLease {
  PackedRows table;  // by number; other rows than those asked for may have no bytes
  std::shared_ptr<const void> held;
};

// A draft stage s is layer n_layers + s.
class WeightPlaces {
 public:
  virtual ~WeightPlaces() = default;

  // The tensor as operators read one of that role, for as long as this lives; null: there is none. Errors: naming
  // tensor and file; Errc::memory.
  virtual Expected<const TensorInfo*> place(const std::string& name, WeightRole role) = 0;

  // Leases, which any thread that runs the model may ask for. An error is that of the step. Where all experts and rows
  // are always there, as here, nobody need say which are wanted, and numbers that operators wrote stay where they are.
  virtual bool leases_by_number() const { return false; }
  // `bound` is of what place() gave; `expert`, where leases are by number: those that rows chose, ascending, each once.
  virtual Expected<ExpertLease> lease_experts(std::int64_t layer, std::span<const ExpertWeights> bound,
                                              std::span<const std::int32_t> expert);
  // That a step will lease these rows of a layer's Engram table; called before its first layer. They may repeat.
  virtual void expect_rows(std::int64_t layer, const PackedRows& bound, std::span<const std::int64_t> row);
  virtual Expected<RowLease> lease_rows(std::int64_t layer, const PackedRows& bound, std::span<const std::int64_t> row);
};

// That no operator reads the tensor as it is.
Error unreadable_type(const TensorInfo& tensor);

}  // namespace cachalot
