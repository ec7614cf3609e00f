// SPDX-License-Identifier: Apache-2.0
// What one run of an operator must move and compute, counted from its arguments: each input once, each output once, in
// the formats they are stored in.
#pragma once

#include <cstdint>

#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

struct Work {
  std::int64_t read = 0;     // bytes
  std::int64_t written = 0;  // bytes
  std::int64_t flops = 0;    // additions and multiplications; a fused multiply-add is two, an exponential one
};

template <class T, int N>
std::int64_t bytes(View<T, N> v) {
  return v.size() * static_cast<std::int64_t>(sizeof(T));
}
template <int N, bool writable>
std::int64_t bytes(BasicValues<N, writable> v) {
  return v.size() * bytes_of(v.type());
}
// Codes and scales.
inline std::int64_t bytes(const Weight& w) {
  switch (w.format) {
    case WeightFormat::f32:
      return 4 * w.out * w.in;
    case WeightFormat::f16:
    case WeightFormat::bf16:
      return 2 * w.out * w.in;
    case WeightFormat::e4m3_block32:
      return w.out * w.in + (w.out + 31) / 32 * w.scale_columns();
    case WeightFormat::e2m1_row32:
      return w.out * (w.in / 2) + w.out * w.scale_columns();
  }
  return 0;
}

}  // namespace cachalot
