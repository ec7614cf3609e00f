// SPDX-License-Identifier: Apache-2.0
// For tests: the golden mini-a checkpoint with something changed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/test_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_writer.h"

namespace cachalot {

inline std::filesystem::path mini_a() { return CACHALOT_BUILD_DIR "/golden/mini-a"; }

inline std::string text_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  check(file.has_value(), "the test's file is there");
  return std::string(file->text());
}

// mini-a as one file without an index. Change `tensors` and `config`, then open().
class EditedCheckpoint {
 public:
  EditedCheckpoint() : original_(Checkpoint::open(mini_a())) {
    check(original_.has_value(), "mini-a opens");
    config = *parse_json(text_of(mini_a() / "config.json"), "config");
    for (const TensorInfo& t : original_->tensors()) {
      tensors.push_back({{t.name, *t.dtype, t.shape}, {t.data, static_cast<std::size_t>(t.bytes)}});
    }
  }
  TensorData& operator[](std::string_view name) {
    const auto at = std::ranges::find(tensors, name, &TensorData::name);
    check(at != tensors.end(), "the test's tensor is there");
    return *at;
  }
  void drop(std::string_view name) {
    std::erase_if(tensors, [&](const TensorData& t) { return t.name == name; });
  }
  Expected<Checkpoint> open() const {
    folder_.write("config.json", config.dump());
    if (Status done = write_safetensors(folder_.path() / "model.safetensors", tensors); !done)
      return tl::unexpected(done.error());
    return Checkpoint::open(folder_.path());
  }
  const std::filesystem::path& path() const { return folder_.path(); }

  Json config;
  std::vector<TensorData> tensors;

 private:
  Expected<Checkpoint> original_;
  TestFolder folder_;
};

}  // namespace cachalot
