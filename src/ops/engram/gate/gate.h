// SPDX-License-Identifier: Apache-2.0
// Adds the Engram value to each residual copy, as far as the copy's gate opens. Source: spec 5.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct EngramGateArgs {
  ConstValues<3> h;         // [rows, hc, dim]
  ConstValues<2> kv;        // [rows, (hc + 1) · dim]: hc keys, then one value
  ConstValues<2> q_weight;  // [hc, dim]
  ConstValues<2> k_weight;  // [hc, dim]
  float eps;
  View<const std::uint8_t, 1> image;  // [rows], 1 = row of an image span: its gate is 0
  View<float, 2> gate;                // [rows, hc]
  Values<3> out;                      // [rows, hc, dim]; may be h itself

  template <class S>
  void each(S&& s) {
    s.in(h, kv, q_weight, k_weight, image);
    s.out(gate, out);
  }
};

// dot = Σ h · q_weight · k_weight · key over the root mean squares of h and key (eps under the roots) and over √dim;
// gate = sigmoid(sign(dot) · √max(|dot|, 1e-6)), where sign(0) = 0 gives ½. An image row keeps the bits of its h.
// Numerics: q_weight · k_weight rounded to f32; products in f32, summed in double; roots, dot and gate f32;
// gate · value and the sum f32, then stored.
void engram_gate_ref(Context& context, const EngramGateArgs& args);

// Numerics: the three sums in f32, 16 lanes, of (h · (q_weight · k_weight)) · key and squares; roots in
// f32, sigmoid in double; gate, gate · value and the sum each rounded to f32, then stored.
void engram_gate_cpu(Context& context, const EngramGateArgs& args);

}  // namespace cachalot
