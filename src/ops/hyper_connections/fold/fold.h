// SPDX-License-Identifier: Apache-2.0
// Folds the residual copies into one: out = Σ_c mix[c] · h[c]. Source: spec 2, steps 4 and 6.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct FoldArgs {
  ConstValues<3> h;          // [rows, hc, dim]
  View<const float, 2> mix;  // [rows, hc]: the pre of the PREVIOUS sublayer
  Values<2> out;             // [rows, dim]

  template <class S>
  void each(S&& s) {
    s.in(h, mix);
    s.out(out);
  }
};

// Numerics: f32, copies ascending, one rounding at the store.
void fold_ref(Context& context, const FoldArgs& args);

// Numerics: f32, copies ascending, products and sums rounded apart; one rounding at the store.
void fold_cpu(Context& context, const FoldArgs& args);

}  // namespace cachalot
