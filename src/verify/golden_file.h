// SPDX-License-Identifier: Apache-2.0
// One safetensors file of golden numbers. It knows which of its tensors nobody has read: a number that is not looked at
// proves nothing, so that is a failure.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "checkpoint/safetensors.h"
#include "tensor/dtype.h"
#include "verify/report.h"

namespace cachalot {

// Decoded: real types into `values`, whole numbers and booleans into `numbers`. The file outlives it.
struct GoldenTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // as stored
  std::vector<float> values;
  std::vector<std::int64_t> numbers;

  std::int64_t extent(int axis) const { return shape[static_cast<std::size_t>(axis)]; }
  std::int64_t last() const { return shape.empty() ? 1 : shape.back(); }
  // The shape as a matrix: everything before the last `inner` axes makes rows.
  std::int64_t rows(int inner = 1) const;
  std::int64_t width(int inner = 1) const;
};

// What a tensor must be. `types` holds letters: r = real (f32, bf16), b = bf16 only, f = f32 only, n = whole numbers,
// 8 = one byte codes of any type.
struct GoldenWant {
  std::string_view name;
  char type;
  int rank;
};

class GoldenFile {
 public:
  static Expected<GoldenFile> open(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  std::span<const TensorInfo> tensors() const { return file_.tensors(); }
  bool has(std::string_view name) const { return file_.find(name) != nullptr; }
  std::int64_t count() const { return static_cast<std::int64_t>(file_.tensors().size()); }

  // Marks the tensor as read. Errors: Errc::missing, or Errc::format where type or rank are others; rank -1 takes any.
  Expected<GoldenTensor> read(const GoldenWant& want);
  template <std::size_t N>
  Expected<std::array<GoldenTensor, N>> read_all(const GoldenWant (&want)[N]) {
    std::array<GoldenTensor, N> all;
    for (std::size_t i = 0; i < N; ++i) {
      auto tensor = read(want[i]);
      if (!tensor) return tl::unexpected(tensor.error());
      all[i] = std::move(*tensor);
    }
    return all;
  }

  // Errc::format naming file, tensor and both shapes.
  Status expect_shape(const GoldenTensor& tensor, std::initializer_list<std::int64_t> want) const;
  // Errc::range where a number lies outside [low, high).
  Status expect_range(const GoldenTensor& tensor, std::int64_t low, std::int64_t high) const;

  // For tensors whose absence from the comparison has been said aloud.
  void leave_out(std::string_view name) { unread_.erase(std::string(name)); }
  std::vector<std::string> unread() const { return {unread_.begin(), unread_.end()}; }
  // Ends a case: counts the tensors, and makes each unread one a failure.
  void close(CaseReport& report) const;

 private:
  explicit GoldenFile(SafetensorsFile file) : file_(std::move(file)) {}

  SafetensorsFile file_;
  std::string path_;
  std::set<std::string> unread_;
};

}  // namespace cachalot
