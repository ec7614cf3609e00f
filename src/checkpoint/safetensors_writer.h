// SPDX-License-Identifier: Apache-2.0
// Writes one safetensors file: equal tensors give equal bytes. The header is padded with spaces to a multiple of 64
// bytes and wide elements come first, so every tensor lies on a multiple of its element size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "tensor/dtype.h"

namespace cachalot {

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * bytes_of(dtype); }
};

// Names must differ.
class SafetensorsWriter {
 public:
  // Writes the header; an older file is replaced. Errors: Errc::io.
  static Expected<SafetensorsWriter> create(const std::filesystem::path& path, std::vector<TensorSpec> tensors);

  // The order their bytes are wanted in: by element size, wide first, else as given.
  std::span<const TensorSpec> order() const { return tensors_; }

  Status write(std::span<const std::byte> bytes);  // the next bytes, in any pieces
  Status finish();                                 // all bytes were written; closes

 private:
  SafetensorsWriter(std::filesystem::path path, std::vector<TensorSpec> tensors, std::ofstream out);

  std::filesystem::path path_;
  std::vector<TensorSpec> tensors_;
  std::ofstream out_;
  std::int64_t left_ = 0;
};

struct TensorData : TensorSpec {
  std::span<const std::byte> data;
};

// A whole file at once.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors);

}  // namespace cachalot
