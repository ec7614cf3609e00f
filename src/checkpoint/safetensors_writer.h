// SPDX-License-Identifier: Apache-2.0
// Writes one safetensors file: equal tensors give equal bytes. The header is padded with spaces to a multiple of 64
// bytes and wide elements come first, so every tensor lies on a multiple of its element size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/output_file.h"
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
  // Writes the header and makes the file as long as it will be: what is not written after that reads as zero, and is a
  // hole (base/output_file.h). An older file is replaced. Errors, here and below: Errc::io.
  static Expected<SafetensorsWriter> create(const std::filesystem::path& path, std::vector<TensorSpec> tensors);

  // The tensors as they lie in the file: by element size, wide first, else as given.
  std::span<const TensorSpec> order() const { return tensors_; }

  // Bytes of order()[tensor], from `offset` of its own on. Several threads may write at once, each somewhere else.
  Status write(std::size_t tensor, std::int64_t offset, std::span<const std::byte> bytes);
  Status finish();

 private:
  SafetensorsWriter(std::vector<TensorSpec> tensors, std::vector<std::int64_t> start, OutputFile file)
      : tensors_(std::move(tensors)), start_(std::move(start)), file_(std::move(file)) {}

  std::vector<TensorSpec> tensors_;
  std::vector<std::int64_t> start_;  // of each tensor in the file
  OutputFile file_;
};

struct TensorData : TensorSpec {
  std::span<const std::byte> data;
};

// A whole file at once.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors);

}  // namespace cachalot
