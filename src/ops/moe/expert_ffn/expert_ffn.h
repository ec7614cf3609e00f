// SPDX-License-Identifier: Apache-2.0
// SwiGLU experts: w2 · (weight · silu(clamp(w1 · x)) · clamp(w3 · x)). Source: spec 4.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

struct ExpertFfnArgs {
  ConstValues<2> x;  // [rows, dim]
  std::span<const ExpertWeights> experts;
  View<const std::int32_t, 2> expert;  // [rows, top_k], index into experts
  View<const float, 2> weight;         // [rows, top_k], multiplies before w2; all 1 for a shared expert
  float limit;                         // swiglu_limit: up clamped to ±limit, gate from above only; 0 = no clamp
  Values<3> out;                       // [rows, top_k, dim]

  template <class S>
  void each(S&& s) {
    s.in(x, experts, expert, weight);
    s.out(out);
  }
};

// Numerics: w1·x and w3·x are linears (linear.h) stored in x's type; weight · (silu(gate) · up) is f32, stored in
// x's type; w2 is a linear stored in out's type.
void expert_ffn_ref(Context& context, const ExpertFfnArgs& args);

// Numerics: stores as above, but the linears are those of linear_cpu, and weight · silu(gate) · up is f32, with silu to
// about 2 ulps.
void expert_ffn_cpu(Context& context, const ExpertFfnArgs& args);

}  // namespace cachalot
