// SPDX-License-Identifier: Apache-2.0
// Arguments made in memory: inputs of random numbers (zeros would run faster) and outputs that are poisoned before a
// run and looked at after it. Everything lives as long as the Memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/split_mix.h"
#include "tensor/arena.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

class Memory {
 public:
  explicit Memory(std::uint64_t seed = 1) : random_(seed) {}

  // ---- inputs; real numbers are ±[½, 1), packed ones anything finite that their format can hold
  template <int N>
  Values<N> bf16s(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take_values<N>(DType::bf16, shape);
    fill_bf16(v.data(), v.size());
    return v;
  }
  template <int N>
  View<float, N> floats(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take<float, N>(shape);
    fill_f32(v.data(), v.size());
    return v;
  }
  Weight weight(WeightFormat format, std::int64_t out, std::int64_t in);
  PackedRows packed(RowFormat format, std::int64_t width, std::int64_t rows, RowLayout layout = RowLayout::planes);
  // Of one sequence.
  PagedRows paged(RowFormat format, RowLayout layout, std::int64_t width, std::int64_t rows, std::int64_t page_rows);
  template <class T>
  std::span<T> list(std::int64_t count, T value = {}) {
    const auto v = arena_.take<T, 1>({count}).span();
    std::uninitialized_fill(v.begin(), v.end(), value);
    return v;
  }
  // Every place the same number.
  template <class T, int N>
  View<T, N> all(std::array<std::int64_t, N> shape, T value) {
    const auto v = arena_.take<T, N>(shape);
    std::uninitialized_fill_n(v.data(), v.size(), value);
    return v;
  }
  // A whole number in [0, bound).
  std::int64_t below(std::int64_t bound) { return random_.below(bound); }

  // ---- outputs
  template <int N>
  Values<N> bf16_out(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take_values<N>(DType::bf16, shape);
    outputs_.push_back({Kind::bf16, v.data(), 2 * v.size()});
    return v;
  }
  template <int N>
  View<float, N> float_out(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take<float, N>(shape);
    outputs_.push_back({Kind::f32, v.data(), 4 * v.size()});
    return v;
  }
  template <int N>
  View<std::int32_t, N> whole_out(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take<std::int32_t, N>(shape);
    outputs_.push_back({Kind::whole, v.data(), 4 * v.size()});
    return v;
  }
  PackedRowsOut packed_out(RowFormat format, std::int64_t width, std::int64_t rows);
  PackedRowsOut records_out(RowFormat format, std::int64_t width, std::int64_t rows);
  // What an operator both reads and writes: random numbers again before each run.
  template <int N>
  Values<N> bf16_in_place(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take_values<N>(DType::bf16, shape);
    outputs_.push_back({Kind::bf16_in_place, v.data(), 2 * v.size()});
    return v;
  }
  template <int N>
  View<float, N> float_in_place(std::array<std::int64_t, N> shape) {
    const auto v = arena_.take<float, N>(shape);
    outputs_.push_back({Kind::f32_in_place, v.data(), 4 * v.size()});
    return v;
  }

  std::int64_t bytes() const { return arena_.peak_bytes(); }
  std::size_t outputs() const { return outputs_.size(); }
  // Outputs first … last - 1, in the order they were asked for: NaN, or a number that no operator gives.
  void poison(std::size_t first, std::size_t last);
  // Has all poison gone, and is every number finite?
  bool filled(std::size_t first, std::size_t last) const;

 private:
  enum class Kind : std::uint8_t { bf16, f32, whole, codes, bf16_in_place, f32_in_place };
  struct Output {
    Kind kind;
    void* data;
    std::int64_t bytes;
  };

  void fill(void* to, std::int64_t bytes, std::uint64_t keep, std::uint64_t set);
  void fill_bf16(void* to, std::int64_t count);
  void fill_f32(void* to, std::int64_t count);
  void fill_codes(RowFormat format, std::uint8_t* codes, std::int64_t bytes);
  void fill_scales(RowFormat format, std::uint8_t* scales, std::int64_t bytes);

  Arena arena_;
  SplitMix random_;
  std::vector<Output> outputs_;
};

}  // namespace cachalot
