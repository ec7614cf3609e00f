// SPDX-License-Identifier: Apache-2.0
#include "engine/model_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "checkpoint/safetensors.h"

namespace cachalot {
namespace {

// -1 where there is no such file.
std::int64_t size_of(const std::filesystem::path& path) {
  std::error_code wrong;
  const auto size = std::filesystem::file_size(path, wrong);
  return wrong ? -1 : static_cast<std::int64_t>(size);
}

}  // namespace

Expected<ModelFiles> look_at_model(const std::filesystem::path& model) {
  ModelFiles files;
  files.path = model;
  std::error_code wrong;  // not asked: what can't be looked at can't be opened either, and that is told
  const bool folder = std::filesystem::is_directory(model, wrong);
  if (!folder) {
    auto loaded = load_config(model);
    if (!loaded) return tl::unexpected(loaded.error());
    files.config = std::move(loaded->config);
    return files;
  }
  auto texts = Checkpoint::read_texts(model);
  if (!texts) return tl::unexpected(texts.error());
  files.texts = std::move(*texts);
  files.config = files.texts->config.config;

  std::vector<std::string> names = {"model.safetensors"};
  if (files.texts->index) {
    names = files.texts->index->shards;
    files.indexed = true;
  } else if (size_of(model / names[0]) < 0) {
    names.clear();
  }
  files.shards = static_cast<std::int64_t>(names.size());
  for (const std::string& name : names) {
    const std::int64_t bytes = size_of(model / name);
    if (bytes < 0) {
      files.absent.push_back(name);
    } else {
      files.shard_bytes += bytes;
      files.header_bytes = std::max(files.header_bytes, safetensors_header_bytes(model / name));
    }
  }
  files.tokenizer_bytes = std::max<std::int64_t>(0, size_of(model / "tokenizer.json"));
  return files;
}

Expected<Checkpoint> open_checkpoint(ModelFiles& files) {
  auto texts = std::exchange(files.texts, std::nullopt);
  if (!texts) return Checkpoint::open(files.path);
  return Checkpoint::open(files.path, std::move(*texts));
}

}  // namespace cachalot
