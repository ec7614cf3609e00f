// SPDX-License-Identifier: Apache-2.0
#include "tensor/weight.h"

#include <algorithm>

#include "base/check.h"

namespace cachalot {

void Weight::codes(std::int64_t row, std::span<float> to) const {
  check(row >= 0 && row < out && static_cast<std::int64_t>(to.size()) == in, "a row that the weight has");
  for (std::int64_t i = 0; i < in; ++i) to[static_cast<std::size_t>(i)] = code(row, i);
}

void Weight::values(std::int64_t row, std::span<float> to) const {
  codes(row, to);
  if (!quantized()) return;
  for (std::int64_t i = 0; i < in; ++i) to[static_cast<std::size_t>(i)] *= block_scale(row, i / 32);
}

Weight Weight::rows(std::int64_t first, std::int64_t count) const {
  check(first >= 0 && count >= 0 && first + count <= out, "rows that the weight has");
  Weight w = *this;
  w.out = count;
  std::int64_t row_bytes = 0;
  std::int64_t scale_row = first;
  switch (format) {
    case WeightFormat::f32:
      row_bytes = 4 * in;
      break;
    case WeightFormat::f16:
    case WeightFormat::bf16:
      row_bytes = 2 * in;
      break;
    case WeightFormat::e4m3_block32:
      check(first % 32 == 0, "a cut through a 32 x 32 scale block");
      row_bytes = in;
      scale_row = first / 32;
      break;
    case WeightFormat::e2m1_row32:
      row_bytes = in / 2;
      break;
  }
  w.data = static_cast<const std::uint8_t*>(data) + first * row_bytes;
  if (scale != nullptr) w.scale = scale + scale_row * scale_columns();
  return w;
}

}  // namespace cachalot
