// SPDX-License-Identifier: Apache-2.0
// Every tensor a checkpoint of a given shape has: name, shape, types (spec 9, released layout). The loader checks
// against this table, make-checkpoint writes it, inspect sums it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "tensor/dtype.h"

namespace cachalot {

// What a tensor is for decides which types it may have, the first being the released one.
enum class TensorRole : std::uint8_t {
  matrix,     // [out, in], not quantized: compressor, index wk, weights_proj, confidence, vision      bf16 f32
  gate,       // the router's matrix, [experts, dim]                                                   bf16 f16 f32
  embedding,  // rows looked up by id: embed, markov embed, image_start and its like                   bf16 f32
  head,       // [vocabulary, in]                                                                      bf16 f32
  norm,       //                                                                                       bf16 f16 f32
  bias,       // of a vision linear                                                                    bf16 f32
  gate_bias,  // added to scores to choose experts                                                     f32 f16 bf16
  sink,       // attn_sink                                                                             f32 f16 bf16
  hc_matrix,  // hc_*_fn, hc_*_base, hc_*_scale                                                        f32 f16 bf16
  hc_base,
  hc_scale,
  fp8,             // [out, in] codes; its scale is [⌈out/32⌉, ⌈in/32⌉]                                     e4m3
  fp8_scale,       //                                                                                       e8m0 u8
  fp4,             // [out, in/2], two codes a byte; its scale is [out, in/32]                              i8 u8
  fp4_scale,       //                                                                                       e8m0 u8
  fp8_rows,        // Engram table, [rows, head_dim] codes; its scale is [rows, head_dim/32]                e4m3
  fp8_rows_scale,  //                                                                                       e8m0 u8
};
std::span<const DType> accepted_dtypes(TensorRole role);

// Which part of the model it belongs to.
enum class Part : std::uint8_t {
  embedding,
  attention,
  indexer,
  hyper_connections,
  router,
  experts,
  shared_expert,
  engram,
  drafts,
  vision
};
constexpr std::size_t part_count = 10;
const char* name(Part part);

struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorRole role = TensorRole::matrix;
  Part part = Part::embedding;  // a draft stage's block counts as drafts
  std::int64_t layer = -1;      // draft stage s is n_layers + s; -1: outside the layers
  bool required = true;         // gate.bias_vl is needed only where there is a vision tower

  DType dtype() const { return accepted_dtypes(role).front(); }
  std::int64_t bytes() const;  // in the released type
};

// In the model's order: embedding, layers, draft stages, head, vision.
std::vector<ExpectedTensor> expected_tensors(const Config& config);

// Errors: Errc::missing names the tensors that are not there (a scale without its weight and the reverse are told),
// Errc::format one whose shape or type is another. The result lists the tensors nobody uses, for the caller to warn
// about; but a scale beside a weight that is not quantized is an error: the weight is not what it is taken for.
Expected<std::vector<std::string>> check_tensors(const Checkpoint& checkpoint);

}  // namespace cachalot
