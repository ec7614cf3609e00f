// SPDX-License-Identifier: Apache-2.0
// out = x · weightᵀ, row by row. Source: spec 1 (quantized linears), 7, 8.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/weight.h"

namespace cachalot {

// A weight with scales and a bf16 x make a quantized linear: each row of x first goes to fp8 per 32 (spec 7), and the
// product is taken per block of 32 along `in`. With an f32 x nothing is quantized.
struct LinearArgs {
  ConstValues<2> x;  // [rows, in]; where it is quantized, `in` is a multiple of 32
  Weight weight;     // [out, in]
  Values<2> out;     // [rows, out]; f32 keeps the sum (logits, gates), bf16 rounds it once

  template <class S>
  void each(S&& s) {
    s.in(x, weight);
    s.out(out);
  }
};

// Numerics: quantized: f32 sums within a block of 32, ascending; times both scales; added in f32, blocks ascending.
// Otherwise double.
void linear_ref(Context& context, const LinearArgs& args);

// Numerics: f32, 16 lanes (device/cpu/matmul.h) over decoded weights and, where quantized, the decoded round trip of x.
void linear_cpu(Context& context, const LinearArgs& args);

}  // namespace cachalot
