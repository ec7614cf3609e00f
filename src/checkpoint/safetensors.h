// SPDX-License-Identifier: Apache-2.0
// One safetensors file: 8 bytes of header length (little-endian), a JSON header, then the bytes of all tensors without
// a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/mapped_file.h"
#include "tensor/dtype.h"

namespace cachalot {

struct TensorInfo {
  std::string name;
  std::string file;                 // path of the file it lies in
  std::string dtype_text;           // as the file says
  std::optional<DType> dtype;       // empty: a type this build does not know, an error only for who needs the tensor
  std::vector<std::int64_t> shape;  // empty: one number
  const std::byte* data = nullptr;  // aligned to the element size; null in a header that was only parsed
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // of the first byte in the file
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;                            // in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"
};

// Reads the header of a file of `file_bytes` bytes that starts with `start`; `file` names it in messages. Any bytes
// give a header or an error. Errors: Errc::format for a length, name, shape or place that can't be (tensors must fill
// the file without overlap or hole, and have as many bytes as shape and type say).
Expected<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> start, std::int64_t file_bytes,
                                                     std::string_view file);

// How long the header of a file is, as its first bytes say, and at most as it can be; 0 for what can't be opened.
std::int64_t safetensors_header_bytes(const std::filesystem::path& path);
// What reading it may take of memory for each of its bytes (tools/measure_input_limits.py).
inline constexpr std::int64_t safetensors_header_share = 10;

// A mapped file. Nothing is read until it is looked at, but tensors that do not lie on a multiple of their element size
// (a writer may pad its header as it likes): these are copied once, when opened.
class SafetensorsFile {
 public:
  static Expected<SafetensorsFile> open(const std::filesystem::path& path);

  std::span<const TensorInfo> tensors() const { return header_.tensors; }
  // Hands the list over: a checkpoint keeps one of its own, and 100,000 names need not be there twice.
  std::vector<TensorInfo> take_tensors() { return std::exchange(header_.tensors, {}); }
  const TensorInfo* find(std::string_view name) const;  // looks at each in turn
  std::span<const std::pair<std::string, std::string>> metadata() const { return header_.metadata; }
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  SafetensorsHeader header_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;  // operator new aligns these for any element type
  std::int64_t copied_bytes_ = 0;
};

}  // namespace cachalot
