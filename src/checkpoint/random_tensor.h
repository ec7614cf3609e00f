// SPDX-License-Identifier: Apache-2.0
// The random content of one tensor of a synthetic checkpoint, in its released type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/planted.h"

namespace cachalot {

// The bytes depend on seed, name, role, shape and what is planted, and are computed from whole numbers and single
// roundings, so every machine makes the same. Each piece is made by itself: threads may share a tensor, and one row of
// a table is what it would be in the whole.
class RandomTensor {
 public:
  RandomTensor(const ExpectedTensor& tensor, std::uint64_t seed, const Planted& planted = {});

  // The bytes from `first` on. `first` is a multiple of 4, or of what a row has.
  void bytes(std::int64_t first, std::span<std::byte> out) const;

 private:
  static constexpr int byte_sums = 4 * 255 + 1;  // random_tensor.cpp says what for

  void random_bytes(std::int64_t first, std::span<std::byte> out) const;
  void planted_row(std::int64_t row, std::int64_t first, std::span<std::byte> out) const;
  std::uint64_t number(std::int64_t at) const;

  TensorRole role_;
  Planted planted_;
  std::int64_t row_bytes_ = 0, element_bytes_ = 0, all_bytes_ = 0;
  std::uint64_t start_ = 0;
  float mean_ = 0, deviation_ = 0;              // of what is stored as plain numbers
  int exponent_ = 0;                            // of scales
  std::array<std::uint8_t, byte_sums> code_{};  // of codes
};

}  // namespace cachalot
