// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/make_checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <system_error>
#include <unordered_map>

#include "base/ids.h"
#include "base/mapped_file.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/random_tensor.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/shard_index.h"

namespace cachalot {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t shard_bytes = std::int64_t{4} << 30;

bool is_model_file(const std::string& name) {
  return name == "model.safetensors" || name == "model.safetensors.index.json" ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));
}

// The folder is there, has nothing that would be lost, and room for `bytes`.
Status prepare_folder(const MakeCheckpointOptions& options, std::int64_t bytes) {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) return fail(Errc::io, "can't make folder {}: {}", options.out.string(), error.message());
  if (!options.force && !fs::is_empty(options.out, error)) {
    return fail(Errc::usage, "{} is not empty; --force writes there all the same", options.out.string());
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(options.out, error)) {
    if (is_model_file(entry.path().filename().string())) fs::remove(entry.path(), error);
    if (error) return fail(Errc::io, "can't remove {}: {}", entry.path().string(), error.message());
  }
  const fs::space_info space = fs::space(options.out, error);
  if (!error && space.available < static_cast<std::uintmax_t>(bytes)) {
    return fail(Errc::io, "{}: {} bytes are free, the checkpoint needs {}", options.out.string(), space.available,
                bytes);
  }
  return {};
}

Status write_text(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return fail(Errc::io, "can't write {}: {}", path.string(), std::strerror(errno));
  return {};
}

// Runs of neighbouring tensors of about equal bytes, none empty.
std::vector<std::span<const ExpectedTensor>> cut(std::span<const ExpectedTensor> tensors, std::int64_t bytes,
                                                 std::int64_t shards) {
  std::vector<std::span<const ExpectedTensor>> runs;
  std::size_t first = 0;
  std::int64_t done = 0;
  for (std::int64_t shard = 1; shard <= shards; ++shard) {
    const auto kept_back = static_cast<std::size_t>(shards - shard);  // one tensor for each shard to come
    std::size_t end = first;
    while (end < tensors.size() - kept_back && (end == first || shard == shards || done < bytes / shards * shard)) {
      done += tensors[end++].bytes();
    }
    runs.push_back(tensors.subspan(first, end - first));
    first = end;
  }
  return runs;
}

}  // namespace

Expected<MadeCheckpoint> make_checkpoint(const MakeCheckpointOptions& options) {
  // Read first: the config may lie in the folder that is written to.
  const auto config_file = MappedFile::open(options.config);
  if (!config_file) return tl::unexpected(config_file.error());
  const std::string config_text(config_file->text());
  const auto loaded = parse_config(config_text, options.config.string());
  if (!loaded) return tl::unexpected(loaded.error());
  std::string tokenizer_text;
  if (!options.tokenizer.empty()) {
    const auto file = MappedFile::open(options.tokenizer);
    if (!file) return tl::unexpected(file.error());
    tokenizer_text = file->text();
  }

  const std::vector<ExpectedTensor> tensors = expected_tensors(loaded->config);
  MadeCheckpoint made{.tensors = static_cast<std::int64_t>(tensors.size())};
  for (const ExpectedTensor& tensor : tensors) made.bytes += tensor.bytes();
  made.shards = options.shards > 0 ? options.shards : std::min(made.tensors, ceil_div(made.bytes, shard_bytes));
  if (made.shards > made.tensors) return fail(Errc::usage, "{} shards for only {} tensors", made.shards, made.tensors);
  if (Status ready = prepare_folder(options, made.bytes); !ready) return tl::unexpected(ready.error());

  std::map<std::string, std::string> shard_of;
  std::int64_t done = 0, shard_number = 0;
  for (const auto run : cut(tensors, made.bytes, made.shards)) {
    const std::string shard = fmt::format("model-{:05}-of-{:05}.safetensors", ++shard_number, made.shards);
    std::vector<TensorSpec> specs;
    std::unordered_map<std::string_view, const ExpectedTensor*> by_name;
    for (const ExpectedTensor& tensor : run) {
      specs.push_back({tensor.name, tensor.dtype(), tensor.shape});
      by_name.emplace(tensor.name, &tensor);
      shard_of.emplace(tensor.name, shard);
    }
    auto writer = SafetensorsWriter::create(options.out / shard, std::move(specs));
    if (!writer) return tl::unexpected(writer.error());
    for (const TensorSpec& spec : writer->order()) {
      const auto sink = [&](std::span<const std::byte> bytes) { return writer->write(bytes); };
      const Status written = write_random_tensor(*by_name.at(spec.name), options.seed, sink);
      if (!written) return tl::unexpected(written.error());
      done += spec.bytes();
      if (options.progress && !options.progress(done, made.bytes)) {
        return fail(Errc::stopped, "stopped; {} is not complete", options.out.string());
      }
    }
    if (Status finished = writer->finish(); !finished) return tl::unexpected(finished.error());
  }
  const std::pair<const char*, std::string> texts[] = {
      {"config.json", config_text},
      {"model.safetensors.index.json", shard_index_text(shard_of, made.bytes)},
      {"tokenizer.json", tokenizer_text}};
  for (const auto& [name, text] : texts) {
    if (text.empty()) continue;
    if (Status written = write_text(options.out / name, text); !written) return tl::unexpected(written.error());
  }
  return made;
}

}  // namespace cachalot
