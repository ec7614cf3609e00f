// SPDX-License-Identifier: Apache-2.0
// Pools groups of `ratio` consecutive tokens into one latent: Σ softmax over the group(score) · kv, per channel.
// Source: spec 3.3 (r > 1).
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct CompressorArgs {
  PackedRows own;   // a token each, of this step: f32, head_dim of kv, then head_dim of score
  PackedRows kept;  // the same, of earlier steps
  View<const std::int32_t, 2>
      token;      // [groups, ratio], tokens ascending: below own.rows a row of own, from there on of kept
  Values<2> out;  // [groups, head_dim]: before the norm

  template <class S>
  void each(S&& s) {
    s.in(own, kept, token);
    s.out(out);
  }

  // [2 · head_dim] of a group's token.
  const float* input(std::int64_t group, std::int64_t t) const {
    const std::int64_t row = token[group][t];
    return reinterpret_cast<const float*>(row < own.rows ? own[row].codes : kept[row - own.rows].codes);
  }
  bool fits() const {
    const auto fit = [&](const PackedRows& r) {
      return r.rows == 0 || (r.format == RowFormat::f32 && r.width == 2 * out.extent(1));
    };
    return fit(own) && fit(kept) && token.extent(0) == out.extent(0);
  }
};

// Numerics: softmax in double, rounded to f32; weight · kv and their sum in f32, tokens ascending; stored once.
void compressor_ref(Context& context, const CompressorArgs& args);
// Numerics: all in f32, e^x good to an ulp; tokens ascending, nothing fused.
void compressor_cpu(Context& context, const CompressorArgs& args);

}  // namespace cachalot
