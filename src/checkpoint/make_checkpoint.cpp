// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/make_checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <span>
#include <system_error>

#include "base/ids.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/seeded_hash.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/random_tensor.h"
#include "checkpoint/released_config.h"
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
  std::vector<fs::path> older;
  bool empty = true;
  for (fs::directory_iterator it(options.out, error), end; !error && it != end; it.increment(error)) {
    empty = false;
    if (is_model_file(it->path().filename().string())) older.push_back(it->path());
  }
  if (error) return fail(Errc::io, "can't list folder {}: {}", options.out.string(), error.message());
  if (!options.force && !empty)
    return fail(Errc::usage, "{} is not empty; --force writes there all the same", options.out.string());
  for (const fs::path& path : older) {
    fs::remove(path, error);
    if (error) return fail(Errc::io, "can't remove {}: {}", path.string(), error.message());
  }
  const fs::space_info space = fs::space(options.out, error);
  if (!error && space.available < static_cast<std::uintmax_t>(bytes)) {
    return fail(Errc::io, "{}: {} bytes are free, what is to be written needs {}", options.out.string(),
                space.available, bytes);
  }
  if (!options.sparse) return {};
  const auto holes = keeps_holes(options.out);
  if (!holes) return tl::unexpected(holes.error());
  if (!*holes) {
    return fail(Errc::io,
                "{}: its file system can't keep holes in files, which a sparse checkpoint consists of; "
                "choose a folder on another (ext4, XFS, Btrfs and tmpfs can)",
                options.out.string());
  }
  return {};
}

Status write_text(const fs::path& path, std::string_view text) {
  std::error_code none;
  if (fs::is_symlink(path, none)) fs::remove(path, none);  // what it leads to is not ours
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return fail(Errc::io, "can't write {}: {}", path.string(), std::strerror(errno));
  return {};
}

// Runs of neighbouring tensors, none empty.
using Runs = std::vector<std::span<const ExpectedTensor>>;

// None of more than `most` bytes, but where a single tensor is.
Runs cut_by_size(std::span<const ExpectedTensor> tensors, std::int64_t most) {
  Runs runs;
  std::size_t first = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (i > first && bytes + tensors[i].bytes() > most) {
      runs.push_back(tensors.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += tensors[i].bytes();
  }
  runs.push_back(tensors.subspan(first));
  return runs;
}

// Of about equal bytes: each takes its share of what is left, so that after a large tensor the others are still even.
Runs cut_by_count(std::span<const ExpectedTensor> tensors, std::int64_t bytes, std::int64_t count) {
  Runs runs;
  for (; count > 0; --count) {
    const std::int64_t share = bytes / count;
    const auto kept_back = static_cast<std::size_t>(count - 1);  // one tensor for each to come
    std::size_t end = 0;
    std::int64_t taken = 0;
    while (end < tensors.size() - kept_back && (end == 0 || count == 1 || taken < share)) {
      taken += tensors[end++].bytes();
    }
    runs.push_back(tensors.first(end));
    tensors = tensors.subspan(end);
    bytes -= taken;
  }
  return runs;
}

// What of the tensors gets content.
class Content {
 public:
  Content(const Config& config, const std::optional<SparseFill>& sparse) : config_(config), sparse_(sparse) {}

  Status check() const {
    if (!sparse_) return {};
    for (const std::int64_t layer : sparse_->layers) {
      if (layer < 0 || layer >= config_.all_layers()) {
        return fail(Errc::usage, "there is no layer {} to fill: the shape has layers 0 to {}{}", layer,
                    config_.all_layers() - 1, config_.n_mtp_layers > 0 ? ", draft stages being the last" : "");
      }
    }
    if (!sparse_->engram_rows.empty() && sparse_->engram_rows.size() != config_.engram_layer_ids.size()) {
      return fail(Errc::usage, "Engram rows for {} layers, but the shape has {}", sparse_->engram_rows.size(),
                  config_.engram_layer_ids.size());
    }
    for (std::size_t i = 0; i < sparse_->engram_rows.size(); ++i) {
      for (const std::int64_t row : sparse_->engram_rows[i]) {
        if (row < 0 || row >= config_.engram_num_embeddings[i]) {
          return fail(Errc::usage, "there is no Engram row {} to fill: the table of layer {} has rows 0 to {}", row,
                      config_.engram_layer_ids[i], config_.engram_num_embeddings[i] - 1);
        }
      }
    }
    return {};
  }

  bool whole(const ExpectedTensor& tensor) const {
    if (!sparse_) return true;
    if (sparse_->layers.empty() || is_table(tensor) || tensor.part == Part::vision) return false;
    if (tensor.layer < 0) return true;
    switch (tensor.role) {
      case TensorRole::norm:
      case TensorRole::hc_matrix:
      case TensorRole::hc_base:
      case TensorRole::hc_scale:
        return true;
      default:
        return std::ranges::find(sparse_->layers, tensor.layer) != sparse_->layers.end();
    }
  }
  // Where it is not written as a whole.
  std::span<const std::int64_t> rows(const ExpectedTensor& tensor) const {
    if (!sparse_ || sparse_->engram_rows.empty() || !is_table(tensor)) return {};
    return sparse_->engram_rows[static_cast<std::size_t>(config_.engram_index(tensor.layer))];
  }
  std::int64_t bytes(const ExpectedTensor& tensor) const {
    return whole(tensor) ? tensor.bytes() : std::ssize(rows(tensor)) * (tensor.bytes() / tensor.shape[0]);
  }
  // At most, with what is rounded up to the disk's blocks, and the headers.
  std::int64_t disk_bytes(std::span<const ExpectedTensor> tensors) const {
    constexpr std::int64_t block = 4096, in_headers = 512;
    std::int64_t all = 1 << 20;
    for (const ExpectedTensor& tensor : tensors) {
      all += bytes(tensor) + in_headers;
      if (sparse_) all += (whole(tensor) ? 2 : 2 * std::ssize(rows(tensor))) * block;
    }
    return all;
  }

 private:
  static bool is_table(const ExpectedTensor& tensor) {
    return tensor.role == TensorRole::fp8_rows || tensor.role == TensorRole::fp8_rows_scale;
  }

  const Config& config_;
  const std::optional<SparseFill>& sparse_;
};

// Makes tensors and writes them, by all threads; counts what is done.
class Filler {
 public:
  Filler(const MakeCheckpointOptions& options, std::int64_t total)
      : options_(options), total_(total), pool_(options.threads), scratch_(static_cast<std::size_t>(pool_.threads())) {
    for (auto& piece : scratch_) piece.resize(piece_bytes);
  }

  Status whole(SafetensorsWriter& writer, std::size_t place, const RandomTensor& tensor, std::int64_t bytes) {
    constexpr std::int64_t between_looks = 256 * piece_bytes;
    for (std::int64_t first = 0; first < bytes; first += between_looks) {
      const std::int64_t part = std::min(between_looks, bytes - first);
      Status failed;
      std::mutex mutex;
      pool_.parallel(ceil_div(part, piece_bytes), 1, [&](std::int64_t begin, std::int64_t end, int thread) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          const std::int64_t at = piece * piece_bytes;
          const auto out = std::span(scratch_[static_cast<std::size_t>(thread)])
                               .first(static_cast<std::size_t>(std::min(piece_bytes, part - at)));
          tensor.bytes(first + at, out);
          Status written = writer.write(place, first + at, out);
          if (written) continue;
          const std::lock_guard lock(mutex);
          failed = std::move(written);
        }
      });
      if (!failed) return failed;
      if (Status going_on = count(part); !going_on) return going_on;
    }
    return {};
  }

  Status rows(SafetensorsWriter& writer, std::size_t place, const RandomTensor& tensor, std::int64_t row_bytes,
              std::span<const std::int64_t> rows) {
    std::vector<std::byte> row(static_cast<std::size_t>(row_bytes));
    for (const std::int64_t number : rows) {
      tensor.bytes(number * row_bytes, row);
      if (Status done = writer.write(place, number * row_bytes, row); !done) return done;
    }
    return count(std::ssize(rows) * row_bytes);
  }

 private:
  static constexpr std::int64_t piece_bytes = 1 << 20;

  Status count(std::int64_t bytes) {
    done_ += bytes;
    if (bytes == 0 || !options_.progress || options_.progress(done_, total_)) return {};
    return fail(Errc::stopped, "stopped; {} is not complete", options_.out.string());
  }

  const MakeCheckpointOptions& options_;
  std::int64_t done_ = 0, total_;
  ThreadPool pool_;
  std::vector<std::vector<std::byte>> scratch_;  // per thread
};

}  // namespace

Expected<std::string> shape_text(const MakeCheckpointOptions& options) {
  if (options.config.empty()) return std::string(released_config_text());
  const auto file = MappedFile::open(options.config, most_config_bytes);
  if (!file) return tl::unexpected(file.error());
  return std::string(file->text());
}

Expected<MadeCheckpoint> make_checkpoint(const MakeCheckpointOptions& options) {
  // Read first: the config may lie in the folder that is written to.
  const auto config_text = shape_text(options);
  if (!config_text) return tl::unexpected(config_text.error());
  const auto loaded = parse_config(*config_text, options.config.empty() ? "released shape" : options.config.string());
  if (!loaded) return tl::unexpected(loaded.error());
  std::string tokenizer_text;
  if (!options.tokenizer.empty()) {
    const auto file = MappedFile::open(options.tokenizer);
    if (!file) return tl::unexpected(file.error());
    tokenizer_text = file->text();
  }

  const std::vector<ExpectedTensor> tensors = expected_tensors(loaded->config);
  const Content content(loaded->config, options.sparse);
  if (Status good = content.check(); !good) return tl::unexpected(good.error());
  MadeCheckpoint made{.tensors = std::ssize(tensors)};
  for (const ExpectedTensor& tensor : tensors) {
    made.bytes += tensor.bytes();
    made.written += content.bytes(tensor);
  }
  if (options.shards > made.tensors)
    return fail(Errc::usage, "{} shards for only {} tensors", options.shards, made.tensors);
  if (Status ready = prepare_folder(options, content.disk_bytes(tensors)); !ready) return tl::unexpected(ready.error());
  const Runs runs =
      options.shards > 0 ? cut_by_count(tensors, made.bytes, options.shards) : cut_by_size(tensors, shard_bytes);
  made.shards = std::ssize(runs);

  std::map<std::string, std::string> shard_of;
  Filler filler(options, made.written);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string shard = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, runs.size());
    std::vector<TensorSpec> specs;
    HashMap<std::string_view, const ExpectedTensor*> by_name;
    for (const ExpectedTensor& tensor : runs[i]) {
      specs.push_back({tensor.name, tensor.dtype(), tensor.shape});
      by_name.emplace(tensor.name, &tensor);
      shard_of.emplace(tensor.name, shard);
    }
    auto writer = SafetensorsWriter::create(options.out / shard, std::move(specs));
    if (!writer) return tl::unexpected(writer.error());
    for (std::size_t place = 0; place < writer->order().size(); ++place) {
      const ExpectedTensor& tensor = *by_name.at(writer->order()[place].name);
      if (content.bytes(tensor) == 0) continue;
      const RandomTensor random(tensor, options.seed, planted_in(tensor, loaded->config, options.plants));
      Status written = content.whole(tensor) ? filler.whole(*writer, place, random, tensor.bytes())
                                             : filler.rows(*writer, place, random, tensor.bytes() / tensor.shape[0],
                                                           content.rows(tensor));
      if (!written) return tl::unexpected(written.error());
    }
    if (Status finished = writer->finish(); !finished) return tl::unexpected(finished.error());
  }
  const std::pair<const char*, std::string> texts[] = {
      {"config.json", *config_text},
      {"model.safetensors.index.json", shard_index_text(shard_of, made.bytes)},
      {"tokenizer.json", tokenizer_text}};
  for (const auto& [name, text] : texts) {
    if (text.empty()) continue;
    if (Status written = write_text(options.out / name, text); !written) return tl::unexpected(written.error());
  }
  return made;
}

}  // namespace cachalot
