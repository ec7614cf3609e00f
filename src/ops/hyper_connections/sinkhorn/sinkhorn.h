// SPDX-License-Identifier: Apache-2.0
// Turns the raw numbers of a hyper-connection into pre, post and comb. Source: spec 2, step 3.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct SinkhornArgs {
  View<const float, 2> mixes;  // [rows, (2 + hc) · hc]: pre | post | comb
  View<const float, 1> base;   // [(2 + hc) · hc]
  View<const float, 1> scale;  // [3]: of pre, post, comb
  int iterations;              // hc_sinkhorn_iters, >= 1: the first a softmax of each row, the others divide by row
                               // sums, and each then divides by column sums
  float eps;                   // hc_eps
  View<float, 2> pre;          // [rows, hc]: sigmoid + eps
  View<float, 2> post;         // [rows, hc]: 2 · sigmoid
  View<float, 3> comb;         // [rows, hc, hc]: first axis the copy read, second the copy written (unfold.h)

  template <class S>
  void each(S&& s) {
    s.in(mixes, base, scale);
    s.out(pre, post, comb);
  }
};

// Every softmax entry gets eps added, and so does every sum that is divided by.
// Numerics: f32 in ascending order, as the released code; exponentials in double, rounded to f32.
void sinkhorn_ref(Context& context, const SinkhornArgs& args);

// Numerics: f32 in ascending order, exponentials in double rounded to f32.
void sinkhorn_cpu(Context& context, const SinkhornArgs& args);

}  // namespace cachalot
