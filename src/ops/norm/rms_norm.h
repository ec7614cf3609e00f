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
};

// Numerics: statistics wider than the input, one rounding at the store.
void rms_norm_ref(Context& context, const RmsNormArgs& args);

}  // namespace cachalot
