// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "base/seeded_hash.h"

namespace cachalot {
namespace {

constexpr const char* index_name = "model.safetensors.index.json";
constexpr const char* single_name = "model.safetensors";

// Whatever is wrong with a path, such as a name that is too long, shows when it is opened.
bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::not_found;
}

}  // namespace

Status Checkpoint::open_shards(std::span<const std::string> names) {
  std::vector<std::string> absent;
  for (const std::string& name : names) {
    if (!is_there(directory_ / name)) absent.push_back(name);
  }
  if (!absent.empty()) {
    return fail(Errc::missing, "{}: {} of {} shards that {} names are missing: {}", directory_.string(), absent.size(),
                names.size(), index_name, shown_list(absent));
  }
  for (const std::string& name : names) {
    auto file = SafetensorsFile::open(directory_ / name);
    if (!file) return tl::unexpected(file.error());
    copied_bytes_ += file->copied_bytes();
    files_.push_back(std::move(*file));
    shard_names_.push_back(name);
  }
  return {};
}

Status Checkpoint::collect(const ShardIndex* index) {
  HashMap<std::string_view, std::string_view> shard_of;  // by the index
  if (index) {
    for (const ShardIndex::Entry& entry : index->entries) shard_of.emplace(entry.tensor, index->shard_of(entry));
  }
  std::vector<std::string> unlisted, elsewhere, absent;
  std::size_t count = 0;
  for (const SafetensorsFile& file : files_) count += file.tensors().size();
  tensors_.reserve(count);  // place_ has views of their names, so they must not move
  place_.reserve(count);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string& shard = shard_names_[i];
    for (TensorInfo& tensor : files_[i].take_tensors()) {
      const auto listed = shard_of.find(tensor.name);
      if (listed != shard_of.end() && listed->second != shard) {
        elsewhere.push_back(fmt::format("{} in {} (listed in {})", tensor.name, shard, listed->second));
        continue;
      }
      if (index && listed == shard_of.end()) unlisted.push_back(fmt::format("{} in {}", tensor.name, shard));
      if (place_.contains(tensor.name)) continue;
      bytes_ += tensor.bytes;
      tensors_.push_back(std::move(tensor));
      place_.emplace(tensors_.back().name, tensors_.size() - 1);
    }
  }
  if (!index) return {};

  for (const ShardIndex::Entry& entry : index->entries) {
    if (!place_.contains(entry.tensor)) absent.push_back(fmt::format("{} in {}", entry.tensor, index->shard_of(entry)));
  }
  if (!absent.empty()) {
    return fail(Errc::missing, "{}: {} tensors are not in the shard they are listed in: {}",
                (directory_ / index_name).string(), absent.size(), shown_list(absent));
  }
  if (!unlisted.empty())
    warnings_.push_back(
        message("{}: {} tensors are not listed: {}", index_name, unlisted.size(), shown_list(unlisted)));
  if (!elsewhere.empty()) {
    warnings_.push_back(message("{}: {} tensors lie in a second shard too, not used: {}", index_name, elsewhere.size(),
                                shown_list(elsewhere)));
  }
  if (index->total_size && *index->total_size != bytes_) {
    warnings_.push_back(
        message("{}: total_size is {}, but the tensors have {} bytes", index_name, *index->total_size, bytes_));
  }
  return {};
}

Expected<FolderTexts> Checkpoint::read_texts(const std::filesystem::path& directory) {
  auto config = load_config(directory / "config.json");
  if (!config) return tl::unexpected(config.error());
  FolderTexts texts{std::move(*config), std::nullopt};
  if (const auto path = directory / index_name; is_there(path)) {
    auto index = load_shard_index(path);
    if (!index) return tl::unexpected(index.error());
    texts.index = std::move(*index);
  }
  return texts;
}

Expected<Checkpoint> Checkpoint::open(const std::filesystem::path& directory) {
  auto texts = read_texts(directory);
  if (!texts) return tl::unexpected(texts.error());
  return open(directory, std::move(*texts));
}

Expected<Checkpoint> Checkpoint::open(const std::filesystem::path& directory, FolderTexts texts) {
  Checkpoint checkpoint;
  checkpoint.directory_ = directory;
  checkpoint.loaded_ = std::move(texts.config);
  if (const auto& keys = checkpoint.loaded_.unknown_keys; !keys.empty()) {
    checkpoint.warnings_.push_back(message("config.json: unknown keys, not used: {}", shown_list(keys)));
  }

  const ShardIndex* const index = texts.index ? &*texts.index : nullptr;
  if (index == nullptr && !is_there(directory / single_name)) {
    return fail(Errc::missing, "{}: neither {} nor {} is there", directory.string(), index_name, single_name);
  }
  const std::vector<std::string> names = index == nullptr ? std::vector<std::string>{single_name} : index->shards;
  if (Status done = checkpoint.open_shards(names); !done) return tl::unexpected(done.error());
  if (Status done = checkpoint.collect(index); !done) return tl::unexpected(done.error());
  return checkpoint;
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto at = place_.find(name);
  return at == place_.end() ? nullptr : &tensors_[at->second];
}

}  // namespace cachalot
