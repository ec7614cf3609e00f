// SPDX-License-Identifier: Apache-2.0
// What the tests of operators share: memory to point views at, numbers to fill it with, and design idea 4 as a
// question.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "ops/test_backends.h"
#include "tensor/values.h"
#include "tensor/weight.h"

namespace cachalot {

// Owns what a Values view points at. Numbers given are rounded to the type; without any, all are 0.
template <int N>
class TestTensor {
 public:
  TestTensor(DType type, std::array<std::int64_t, N> shape, const std::vector<float>& numbers = {})
      : type_(type), shape_(shape) {
    std::int64_t size = 1;
    for (std::int64_t s : shape) size *= s;
    bytes_.resize(static_cast<std::size_t>(size * bytes_of(type)));
    check(numbers.empty() || static_cast<std::int64_t>(numbers.size()) == size, "a number for every place");
    for (std::size_t i = 0; i < numbers.size(); ++i) flat().store(static_cast<std::int64_t>(i), numbers[i]);
  }

  Values<N> view() { return {bytes_.data(), type_, shape_}; }
  ConstValues<N> view() const { return {bytes_.data(), type_, shape_}; }

  std::vector<float> numbers() {
    std::vector<float> v;
    for (std::int64_t i = 0; i < flat().size(); ++i) v.push_back(flat().load(i));
    return v;
  }

  // A matrix [out, in] as a weight of the same type.
  Weight weight() const requires(N == 2) {
    const auto format = type_ == DType::bf16 ? WeightFormat::bf16 : WeightFormat::f32;
    return {.format = format, .out = shape_[0], .in = shape_[1], .data = bytes_.data(), .scale = nullptr};
  }

 private:
  Values<1> flat() { return {bytes_.data(), type_, {static_cast<std::int64_t>(bytes_.size()) / bytes_of(type_)}}; }

  DType type_;
  std::array<std::int64_t, N> shape_;
  std::vector<std::byte> bytes_;
};

}  // namespace cachalot
