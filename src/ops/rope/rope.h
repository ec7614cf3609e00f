// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding on the last values of each head, neighbours (2i, 2i+1) as one complex number. Source:
// spec 3.7.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/context.h"
#include "tensor/values.h"

namespace cachalot {

// One table of spec 3.7: plain, or stretched by YaRN when `factor` is not 0.
struct RopeScaling {
  float base;
  float factor = 0;    // 0: no YaRN
  float original = 0;  // trained length before stretching, in positions
  float beta_fast = 0;
  float beta_slow = 0;
};

// The angle per position of each pair, [rope_dim / 2]; the f32 operations of the released code, in their order,
// since at position 1,000,000 an angle is a million times as wrong as its frequency.
std::vector<float> rope_frequencies(std::int64_t rope_dim, const RopeScaling& scaling);

struct Rotation {
  float cos;
  float sin;
};
// Angle = position · frequency in f32, up to position 1,048,575.
Rotation rotation(std::int64_t position, float frequency);

struct RopeArgs {
  Values<3> x;  // [rows, heads, head_dim], rotated in place: the last 2 · frequencies of each head
  View<const std::int64_t, 1> position;  // [rows]
  View<const float, 1> frequency;        // [rope_dim / 2]
  bool inverse = false;                  // rotate back (the attention output, spec 3.5)

  template <class S>
  void each(S&& s) {
    s.in(position, frequency);
    s.in_out(x);
  }
};

// Numerics: cos, sin, products and their sum in f32, as the released code; stored once.
void rope_ref(Context& context, const RopeArgs& args);
// The same bits: nothing is fused.
void rope_cpu(Context& context, const RopeArgs& args);

}  // namespace cachalot
