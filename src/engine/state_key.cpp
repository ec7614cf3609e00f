// SPDX-License-Identifier: Apache-2.0
#include "engine/state_key.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.h"
#include "device/cpu/simd_level.h"
#include "kv/checksum.h"

namespace cachalot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t whole_bytes = std::size_t{64} << 20, block_bytes = 4096, blocks = 8;

std::uint64_t add_text(std::string_view text, std::uint64_t before) {
  return checksum(std::as_bytes(std::span(text)), before);
}

// Files that a model may lack count by their absence.
Expected<std::uint64_t> add_file(const fs::path& path, std::uint64_t before) {
  std::error_code error;
  if (!fs::exists(path, error)) return add_text("none", before);
  const auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  return checksum(file->bytes(), before);
}

Expected<std::uint64_t> add_shard(const fs::path& path, std::uint64_t before) {
  const auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const std::span<const std::byte> bytes = file->bytes();
  std::uint64_t hash = add_text(fmt::format("{} {}", path.filename().string(), bytes.size()), before);
  if (bytes.size() <= whole_bytes) return checksum(bytes, hash);
  // A part of such a file's bytes is all there is time for; a change elsewhere shows in its time.
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return fail(Errc::io, "can't tell when {} was last written: {}", path.string(), error.message());
  hash = add_text(fmt::format("{}", time.time_since_epoch().count()), hash);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  hash = checksum(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), 8 + header))), hash);
  for (std::size_t i = 0; i < blocks; ++i)  // the first at its beginning, the last at its end
    hash = checksum(bytes.subspan((bytes.size() - block_bytes) * i / (blocks - 1), block_bytes), hash);
  return hash;
}

}  // namespace

std::string state_mode(const Model& model) {
  const ModelOptions& options = model.options();
  return fmt::format("{} {} {} {} {}", model.backend().name, simd_level().name,
                     options.numerics == Numerics::released ? "released" : "f32",
                     options.index_keys == IndexKeys::owner ? "owner" : "published-slot",
                     options.drafts ? "drafts" : "no-drafts");
}

Expected<std::string> model_fingerprint(const Checkpoint& checkpoint) {
  std::uint64_t hash = 0;
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors.index.json"}) {
    const auto added = add_file(checkpoint.directory() / name, hash);
    if (!added) return tl::unexpected(added.error());
    hash = *added;
  }
  for (const std::string& shard : checkpoint.shards()) {
    const auto added = add_shard(checkpoint.directory() / shard, hash);
    if (!added) return tl::unexpected(added.error());
    hash = *added;
  }
  return fmt::format("{:016x}", hash);
}

Expected<SnapshotKey> state_key(const Model& model, const Checkpoint& checkpoint) {
  auto fingerprint = model_fingerprint(checkpoint);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  std::error_code error;
  fs::path folder = fs::weakly_canonical(checkpoint.directory(), error);
  if (error) folder = checkpoint.directory();
  return SnapshotKey{folder.filename().string(), std::move(*fingerprint), state_mode(model)};
}

}  // namespace cachalot
