// SPDX-License-Identifier: Apache-2.0
// Projects the residual copies to the raw numbers of a hyper-connection: m = (fn · x) · rsqrt(mean(x²) + eps). Source:
// spec 2, steps 1 and 2.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

struct MixArgs {
  ConstValues<3> h;      // [rows, hc, dim]; x is its row flattened, with ONE statistic over all hc · dim values
  Weight fn;             // [(2 + hc) · hc, hc · dim], f32
  float eps;             // norm_eps
  View<float, 2> mixes;  // [rows, (2 + hc) · hc]

  template <class S>
  void each(S&& s) {
    s.in(h, fn);
    s.out(mixes);
  }
};

// Numerics: mean and dot summed in double, each rounded to f32; root and product in f32.
void mix_ref(Context& context, const MixArgs& args);

// Numerics: both sums in f32, 16 lanes over the flattened row (device/cpu/matmul.h); rsqrt and its product in f32.
void mix_cpu(Context& context, const MixArgs& args);

}  // namespace cachalot
