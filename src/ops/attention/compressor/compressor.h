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

// Numerics: softmax and sum wider than f32, tokens ascending, one rounding at the store.
void compressor_ref(Context& context, const CompressorArgs& args);

}  // namespace cachalot
