// SPDX-License-Identifier: Apache-2.0
// Copies of golden folders, to be damaged.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_writer.h"

namespace cachalot {

// An empty folder of the running process, gone when it ends.
inline std::filesystem::path empty_folder() {
  static std::deque<TestFolder> all;
  return all.emplace_back().path();
}

inline void write_text(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

// Overwrites one element of a tensor.
template <class T>
void damage(const std::filesystem::path& path, std::string_view tensor, T value, std::int64_t element = 0) {
  std::int64_t offset = 0;
  {
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    const TensorInfo* info = file->find(tensor);
    ASSERT_NE(info, nullptr) << tensor;
    ASSERT_GE(info->bytes, (element + 1) * static_cast<std::int64_t>(sizeof(T)));
    offset = info->offset + element * static_cast<std::int64_t>(sizeof(T));
  }
  std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(offset);
  out.write(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Writes the file anew with one tensor more, or without one.
inline void add_tensor(const std::filesystem::path& path, const std::string& name) {
  std::vector<TensorData> tensors;
  std::vector<std::vector<std::byte>> bytes;
  {
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    for (const TensorInfo& info : file->tensors()) bytes.emplace_back(info.data, info.data + info.bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const TensorInfo& info = file->tensors()[i];
      tensors.push_back({{info.name, *info.dtype, info.shape}, bytes[i]});
    }
  }
  bytes.push_back(std::vector<std::byte>(8));
  tensors.push_back({{name, DType::f32, {2}}, bytes.back()});
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = bytes[i];
  ASSERT_TRUE(write_safetensors(path, tensors).has_value());
}
inline void remove_tensor(const std::filesystem::path& path, std::string_view name) {
  std::vector<TensorData> tensors;
  std::vector<std::vector<std::byte>> bytes;
  {
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    for (const TensorInfo& info : file->tensors()) {
      if (info.name == name) continue;
      bytes.emplace_back(info.data, info.data + info.bytes);
      tensors.push_back({{info.name, *info.dtype, info.shape}, {}});
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = bytes[i];
  ASSERT_TRUE(write_safetensors(path, tensors).has_value());
}

}  // namespace cachalot
