// SPDX-License-Identifier: Apache-2.0
// The matrix product of the CPU backend: out[row][o] = Σ_k x[row][k] · weight[o][k], from the released formats.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "tensor/arena.h"
#include "tensor/weight.h"

namespace cachalot {

// Rows of x are padded with zeros to a multiple of this many values: the lanes of a sum.
constexpr std::int64_t padded_width(std::int64_t in) { return (in + 15) / 16 * 16; }

struct MatmulArgs {
  std::span<const float* const> x;  // [rows], each [padded_width(weight.in)]
  Weight weight;
  std::span<float* const> out;  // [rows], each [weight.out]
};

// Numerics: f32; weights decoded exactly; 16 lanes, lane = k mod 16, ascending k by fused multiply-add, one tree
// (simd-inl.h). The same bits for any number of rows and threads.
void matmul(ThreadPool& pool, Arena& scratch, const MatmulArgs& args);

}  // namespace cachalot
