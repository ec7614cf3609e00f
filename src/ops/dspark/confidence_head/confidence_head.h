// SPDX-License-Identifier: Apache-2.0
// How sure a draft position is: proj · [folded x ; markov embedding]. Source: spec 6.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

struct ConfidenceHeadArgs {
  ConstValues<2> x;           // [rows, dim], folded, before the norm
  ConstValues<2> embedding;   // [rows, rank]
  Weight proj;                // [1, dim + rank]
  View<float, 1> confidence;  // [rows]; stays f32

  template <class S>
  void each(S&& s) {
    s.in(x, embedding, proj);
    s.out(confidence);
  }
};

// Numerics: one sum in double, rounded to f32.
void confidence_head_ref(Context& context, const ConfidenceHeadArgs& args);

// Numerics: one f32 sum of 16 lanes over both (device/cpu/matmul.h).
void confidence_head_cpu(Context& context, const ConfidenceHeadArgs& args);

}  // namespace cachalot
