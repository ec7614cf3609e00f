// SPDX-License-Identifier: Apache-2.0
// Rows of activations between the types they are kept in and the f32 that CPU kernels compute with.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "tensor/arena.h"
#include "tensor/values.h"

namespace cachalot {

enum class RoundTrip {
  none,
  fp8
};  // fp8: each group of 32 through e4m3 with a ue8m0 scale, as a quantized linear wants its input (spec 7)

// x as f32, each row padded with zeros to a multiple of 16 values; in the arena. The fp8 round trip is exactly
// encode_row's.
View<float, 2> load_rows(ThreadPool& pool, Arena& scratch, ConstValues<2> x, RoundTrip round_trip = RoundTrip::none);

// Rounds f32 rows to the type of `to`: nearest even. from: [rows, at least to's columns].
void store_rows(ThreadPool& pool, View<const float, 2> from, Values<2> to);

// The rows of a view, as matmul takes them.
std::span<const float* const> row_pointers(Arena& scratch, View<const float, 2> rows);
std::span<float* const> row_pointers(Arena& scratch, View<float, 2> rows);

}  // namespace cachalot
