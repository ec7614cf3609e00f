// SPDX-License-Identifier: Apache-2.0
// Values: real numbers whose element type is known at run time, bf16 or f32.
//
// The activations of a step are bf16 in `released` numerics and f32 in `f32` numerics (spec 8), and no operator asks
// which: it computes in a wider type and stores. Storing into a bf16 view rounds, once, and that is where spec 7's
// rounding points are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "numerics/bf16.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace cachalot {

template <int N, bool writable>
class BasicValues {
 public:
  using Void = std::conditional_t<writable, void, const void>;
  using Byte = std::conditional_t<writable, std::byte, const std::byte>;

  BasicValues() = default;
  BasicValues(Void* data, DType type, std::array<std::int64_t, N> shape)
      : type_(type), bytes_(static_cast<Byte*>(data), shape) {
    check(type == DType::bf16 || type == DType::f32, "values are bf16 or f32");
  }
  BasicValues(Void* data, DType type, std::array<std::int64_t, N> shape, std::array<std::int64_t, N> stride)
      : type_(type), bytes_(static_cast<Byte*>(data), shape, stride) {}

  BasicValues(View<std::conditional_t<writable, float, const float>, N> v)
      : BasicValues(v.data(), DType::f32, v.shape(), v.strides()) {}
  BasicValues(View<std::conditional_t<writable, bf16, const bf16>, N> v)
      : BasicValues(v.data(), DType::bf16, v.shape(), v.strides()) {}
  BasicValues(View<float, N> v) requires(!writable) : BasicValues(v.data(), DType::f32, v.shape(), v.strides()) {}
  template <bool other>
  requires(other && !writable) BasicValues(BasicValues<N, other> v)
      : BasicValues(v.data(), v.type(), v.shape(), v.strides()) {}

  DType type() const { return type_; }
  bool is_bf16() const { return type_ == DType::bf16; }
  const std::array<std::int64_t, N>& shape() const { return bytes_.shape(); }
  const std::array<std::int64_t, N>& strides() const { return bytes_.strides(); }  // in elements
  std::int64_t extent(int axis) const { return bytes_.extent(axis); }
  std::int64_t size() const { return bytes_.size(); }
  Void* data() const { return bytes_.data(); }

  // One entry along the first axis.
  BasicValues<N - 1, writable> operator[](std::int64_t i) const requires(N > 1) {
    const auto v = bytes_[i];
    return BasicValues<N - 1, writable>(at(i * strides()[0]), type_, v.shape(), v.strides());
  }
  BasicValues part(std::int64_t first, std::int64_t count) const {
    auto s = shape();
    s[0] = count;
    return BasicValues(at(first * strides()[0]), type_, s, strides());
  }
  // Columns first .. first + count - 1 of every row.
  BasicValues columns(std::int64_t first, std::int64_t count) const requires(N == 2) {
    return BasicValues(at(first), type_, {extent(0), count}, strides());
  }
  // The same numbers under another shape; only where rows stand without gaps.
  template <int M>
  BasicValues<M, writable> reshape(std::array<std::int64_t, M> to) const {
    BasicValues<M, writable> v(data(), type_, to);
    check(v.size() == size() && dense(), "reshape keeps the number of values and wants no gaps");
    return v;
  }
  bool dense() const { return strides() == BasicValues(data(), type_, shape()).strides(); }

  float load(std::int64_t i) const requires(N == 1) {
    return is_bf16() ? to_float(typed<bf16>()[i]) : typed<float>()[i];
  }
  std::vector<float> floats() const requires(N == 1) {
    std::vector<float> v(static_cast<std::size_t>(size()));
    if (is_bf16()) {
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = to_float(typed<bf16>()[i]);
    } else {
      std::copy_n(typed<float>(), v.size(), v.begin());
    }
    return v;
  }
  // Rounds once, to nearest even, to the view's type.
  void store(std::int64_t i, double v) const requires(N == 1 && writable) {
    if (is_bf16()) {
      typed<bf16>()[i] = to_bf16(v);
    } else {
      typed<float>()[i] = static_cast<float>(v);
    }
  }

  // The whole view as one type; the caller has looked at type().
  template <class T>
  View<std::conditional_t<writable, T, const T>, N> as() const {
    check(type_ == (std::is_same_v<T, bf16> ? DType::bf16 : DType::f32), "as<T> names the type the values have");
    return {typed<T>(), shape(), strides()};
  }

 private:
  template <class T>
  auto* typed() const {
    return reinterpret_cast<std::conditional_t<writable, T, const T>*>(bytes_.data());
  }
  Byte* at(std::int64_t elements) const { return bytes_.data() + elements * bytes_of(type_); }

  DType type_ = DType::f32;
  View<Byte, N> bytes_;  // shape and strides count elements, not bytes
};

template <int N>
using Values = BasicValues<N, true>;
template <int N>
using ConstValues = BasicValues<N, false>;

}  // namespace cachalot
