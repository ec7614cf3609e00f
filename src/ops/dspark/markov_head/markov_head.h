// SPDX-License-Identifier: Apache-2.0
// Adds what the previous token says about the next one to draft logits. Source: spec 6.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

struct MarkovHeadArgs {
  ConstValues<2> embedding;  // [rows, rank]: markov_embed of each row's previous token
  Weight head;               // [vocab, rank]
  View<float, 2> logits;     // [rows, vocab], added to; stays f32

  template <class S>
  void each(S&& s) {
    s.in(embedding, head);
    s.in_out(logits);
  }
};

// Numerics: the product summed in double, rounded to f32, then one f32 addition.
void markov_head_ref(Context& context, const MarkovHeadArgs& args);

// Numerics: the product in f32, 16 lanes (device/cpu/matmul.h), then one f32 addition.
void markov_head_cpu(Context& context, const MarkovHeadArgs& args);

}  // namespace cachalot
