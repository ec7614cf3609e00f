// SPDX-License-Identifier: Apache-2.0
// A matrix of the checkpoint, [out, in], in the format it was released in. Nothing is converted: kernels read this.
#pragma once

#include <cstdint>
#include <span>

#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "numerics/f16.h"

namespace cachalot {

enum class WeightFormat : std::uint8_t {
  f32,
  f16,
  bf16,
  e4m3_block32,  // one ue8m0 scale per block of 32 × 32: scale [⌈out/32⌉, ⌈in/32⌉]
  e2m1_row32,  // two codes a byte along `in`, low nibble first; one ue8m0 scale per row and 32 of `in`: [out, ⌈in/32⌉]
};

struct Weight {
  WeightFormat format = WeightFormat::bf16;
  std::int64_t out = 0;
  std::int64_t in = 0;
  const void* data = nullptr;
  const std::uint8_t* scale = nullptr;  // ue8m0 codes; null without scales

  // A linear with such a weight quantizes its input to fp8 per 32 first, when the input is bf16 (spec 1, 7).
  bool quantized() const { return format == WeightFormat::e4m3_block32 || format == WeightFormat::e2m1_row32; }
  std::int64_t scale_columns() const { return (in + 31) / 32; }

  // The stored number without its scale.
  float code(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * in + column;
    switch (format) {
      case WeightFormat::f32:
        return static_cast<const float*>(data)[i];
      case WeightFormat::f16:
        return to_float(static_cast<const f16*>(data)[i]);
      case WeightFormat::bf16:
        return to_float(static_cast<const bf16*>(data)[i]);
      case WeightFormat::e4m3_block32:
        return to_float(static_cast<const e4m3*>(data)[i]);
      case WeightFormat::e2m1_row32:
        return e2m1_value[e2m1_code(static_cast<const std::uint8_t*>(data) + row * (in / 2), column)];
    }
    return 0;
  }
  float value(std::int64_t row, std::int64_t column) const { return code(row, column) * block_scale(row, column / 32); }
  // The stored numbers of a row without their scales. to: [in].
  void codes(std::int64_t row, std::span<float> to) const;
  // The scale of block `block` (32 columns) of a row; 1 where the format has none.
  float block_scale(std::int64_t row, std::int64_t block) const {
    if (!quantized()) return 1.0f;
    const std::int64_t scale_row = format == WeightFormat::e4m3_block32 ? row / 32 : row;
    return to_float(e8m0{scale[scale_row * scale_columns() + block]});
  }
  // The numbers of a row: codes times scales, exact in f32.
  void values(std::int64_t row, std::span<float> to) const;

  // Rows first .. first + count - 1 as a matrix of their own; with 32 × 32 blocks `first` is a multiple of 32, or
  // the scale row would be cut.
  Weight rows(std::int64_t first, std::int64_t count) const;
};

// The three matrices of an expert (spec 4).
struct ExpertWeights {
  Weight w1;  // gate, [inter, dim]
  Weight w2;  // down, [dim, inter]
  Weight w3;  // up,   [inter, dim]

  // Its memory, where it is an argument.
  template <class S>
  void each(S&& s) {
    s.in(w1, w2, w3);
  }
};

}  // namespace cachalot
