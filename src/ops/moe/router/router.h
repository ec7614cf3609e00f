// SPDX-License-Identifier: Apache-2.0
// Which experts a row goes to, and with what weight. Source: spec 4.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

enum class ScoringFunc : std::uint8_t { sqrtsoftplus, softmax, sigmoid };

struct RouterArgs {
  ConstValues<2> x;                   // [rows, dim]
  Weight gate;                        // [experts, dim], bf16, f16 or f32
  View<const float, 1> bias;          // [experts], for text rows
  View<const float, 1> bias_vl;       // [experts], for rows of an image span; empty where the model has no vision
  View<const std::uint8_t, 1> image;  // [rows], 1 = row of an image span
  ScoringFunc scoring;
  float route_scale;
  View<std::int32_t, 2> expert;  // [rows, top_k], best first by score + bias, the lower expert on a tie
  View<float, 2>
      weight;  // [rows, top_k]: scores without bias, over their sum + 1e-20 when top_k > 1, times route_scale

  template <class S>
  void each(S&& s) {
    s.in(x, gate, bias, bias_vl, image);
    s.out(expert, weight);
  }
};

// Fills row `row` of expert and weight. score: [experts], without bias.
void choose_experts(const RouterArgs& args, std::int64_t row, std::span<const float> score);

// Numerics: logits summed in double and rounded to f32, scores rounded to f32; selection compares f32(score + bias),
// where NaN comes after everything else. The weights are wider than f32 and rounded once.
void router_ref(Context& context, const RouterArgs& args);

// Numerics: logits summed in f32, 16 lanes (device/cpu/matmul.h); from there on as above.
void router_cpu(Context& context, const RouterArgs& args);

}  // namespace cachalot
