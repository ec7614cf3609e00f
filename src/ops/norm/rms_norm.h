// SPDX-License-Identifier: Apache-2.0
// RMSNorm: x · rsqrt(mean(x²) + eps) · weight for each row. Source: spec 1.
#pragma once

#include "ops/context.h"
#include "tensor/values.h"

namespace cachalot {

struct RmsNormArgs {
  ConstValues<2> x;       // [rows, dim]
  ConstValues<1> weight;  // [dim]
  float eps;              // 1e-20 in the text model: a row of zeros gives zeros, not NaN
  Values<2> out;          // [rows, dim]; may be x itself

  template <class S>
  void each(S&& s) {
    s.in(x, weight);
    s.out(out);
  }
};

// Numerics: root of the mean in double, rounded to f32; both products in f32, as the released code; stored once.
void rms_norm_ref(Context& context, const RmsNormArgs& args);

// Numerics: squares in f32, 16 lanes (so values above 1e18 may overflow), root and both products in f32;
// stored once.
void rms_norm_cpu(Context& context, const RmsNormArgs& args);

}  // namespace cachalot
