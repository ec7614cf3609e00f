// SPDX-License-Identifier: Apache-2.0
// wo_a: block-diagonal, each group of heads is projected by its own rows. Source: spec 3.6.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/weight.h"

namespace cachalot {

struct OutputProjectionArgs {
  ConstValues<2> x;  // [rows, groups · in]: the heads' outputs, rotated back
  Weight weight;     // [groups · o_lora, in]; stored fp8, used as bf16: its input is NOT quantized (spec 9)
  std::int64_t groups;
  Values<2> out;  // [rows, groups · o_lora]

  template <class S>
  void each(S&& s) {
    s.in(x, weight);
    s.out(out);
  }
};

// Numerics: sums in double, one rounding at the store.
void output_projection_ref(Context& context, const OutputProjectionArgs& args);

// Numerics: f32, 16 lanes (device/cpu/matmul.h), one rounding at the store.
void output_projection_cpu(Context& context, const OutputProjectionArgs& args);

}  // namespace cachalot
