// SPDX-License-Identifier: Apache-2.0
// Pools groups of `ratio` consecutive tokens into one latent: Σ softmax over the group(score) · kv, per channel.
// Source: spec 3.3 (r > 1).
#pragma once

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct CompressorArgs {
  View<const float* const, 2> kv;     // [groups, ratio], each the [head_dim] of one token, tokens ascending
  View<const float* const, 2> score;  // [groups, ratio], likewise
  Values<2> out;                      // [groups, head_dim]: before the norm
};

// Numerics: softmax in double, rounded to f32; weight · kv and their sum in f32, tokens ascending; stored once.
void compressor_ref(Context& context, const CompressorArgs& args);
// Numerics: all in f32, e^x good to an ulp; tokens ascending, nothing fused.
void compressor_cpu(Context& context, const CompressorArgs& args);

}  // namespace cachalot
