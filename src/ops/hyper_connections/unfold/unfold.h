// SPDX-License-Identifier: Apache-2.0
// Spreads a sublayer's output over the residual copies: out[c] = post[c] · y + Σ_k comb[k][c] · h[k]. Source: spec 2,
// step 5.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct UnfoldArgs {
  ConstValues<2> y;           // [rows, dim]
  ConstValues<3> h;           // [rows, hc, dim], the copies before the sublayer
  View<const float, 2> post;  // [rows, hc]
  View<const float, 3> comb;  // [rows, hc, hc]; the sum runs over its FIRST axis
  Values<3> out;              // [rows, hc, dim]; may be h itself

  template <class S>
  void each(S&& s) {
    s.in(y, h, post, comb);
    s.out(out);
  }
};

// Numerics: f32, k ascending, then post · y; one rounding at the store.
void unfold_ref(Context& context, const UnfoldArgs& args);

// Numerics: f32, k ascending, then post · y, products and sums rounded apart; one rounding at the store.
void unfold_cpu(Context& context, const UnfoldArgs& args);

}  // namespace cachalot
