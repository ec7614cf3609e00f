// SPDX-License-Identifier: Apache-2.0
// Where weights lie. A place changes how soon a weight can be read, never a result.
//
// Places there are: mapped_places.h, the files of a checkpoint; shape_places.h, nowhere at all. Room is left for these:
// - resident: place() reads a tensor into memory of its own, on the node whose cores will read it; Errc::memory;
// - streamed: what every row reads is resident. Of an expert or an Engram table place() tells the format and the shape,
//   with `data` null: its bytes come when a step asks for them;
// - on a device: place() uploads into the device's MemorySpace, and may permute the bytes on the way as its backend
//   likes to read them (the same size, one to one);
// - synthetic: numbers made from name and seed, for shapes that no disk holds;
// - several at once: one place that hands each role on to another.
#pragma once

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "checkpoint/safetensors.h"

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

class WeightPlaces {
 public:
  virtual ~WeightPlaces() = default;

  // The tensor as operators read one of that role, for as long as this lives; null: there is none. Errors: naming
  // tensor and file; Errc::memory.
  virtual Expected<const TensorInfo*> place(const std::string& name, WeightRole role) = 0;
};

// That no operator reads the tensor as it is.
Error unreadable_type(const TensorInfo& tensor);

}  // namespace cachalot
