// SPDX-License-Identifier: Apache-2.0
// Views borrow: a pointer, a shape, and how far apart neighbours along the first axes are. The last axis is contiguous.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/check.h"

namespace cachalot {

template <class T, int N>
class View {
 public:
  View() = default;
  View(T* data, std::array<std::int64_t, N> shape) : data_(data), shape_(shape) {
    std::int64_t step = 1;
    for (int i = N - 1; i >= 0; --i) {
      stride_[index(i)] = step;
      step *= shape[index(i)];
    }
  }
  View(T* data, std::array<std::int64_t, N> shape, std::array<std::int64_t, N> stride)
      : data_(data), shape_(shape), stride_(stride) {
    check(stride[N - 1] == 1, "a view's last axis is contiguous");
  }

  template <class U>
  requires(std::is_same_v<T, const U>) View(View<U, N> other)
      : data_(other.data()), shape_(other.shape()), stride_(other.strides()) {}

  T* data() const { return data_; }
  const std::array<std::int64_t, N>& shape() const { return shape_; }
  const std::array<std::int64_t, N>& strides() const { return stride_; }  // in elements
  std::int64_t extent(int axis) const { return shape_[index(axis)]; }
  std::int64_t size() const {
    std::int64_t n = 1;
    for (std::int64_t s : shape_) n *= s;
    return n;
  }
  bool empty() const { return size() == 0; }

  // One entry along the first axis: a view of one axis less, or the element itself.
  decltype(auto) operator[](std::int64_t i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[i]);
    } else {
      return View<T, N - 1>(data_ + i * stride_[0], tail(shape_), tail(stride_));
    }
  }

  // Entries first .. first + count - 1 along the first axis.
  View part(std::int64_t first, std::int64_t count) const {
    auto shape = shape_;
    shape[0] = count;
    return View(data_ + first * stride_[0], shape, stride_);
  }

  std::span<T> span() const requires(N == 1) { return {data_, static_cast<std::size_t>(shape_[0])}; }

 private:
  static constexpr std::size_t index(int axis) { return static_cast<std::size_t>(axis); }
  static std::array<std::int64_t, N - 1> tail(const std::array<std::int64_t, N>& a) requires(N > 1) {
    std::array<std::int64_t, N - 1> t;
    for (std::size_t i = 1; i < a.size(); ++i) t[i - 1] = a[i];
    return t;
  }

  T* data_ = nullptr;
  std::array<std::int64_t, N> shape_{};
  std::array<std::int64_t, N> stride_{};
};

}  // namespace cachalot
