// SPDX-License-Identifier: Apache-2.0
// The engine's model as verification runs it: a batch of sequences of equal length, fed ids from a golden file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/expected.h"
#include "engine/load_model.h"
#include "model/model.h"
#include "verify/run_observer.h"

namespace cachalot {

// Loads a model once per way of running it.
class ModelSource {
 public:
  ModelSource(std::filesystem::path directory, const Backend* backend, int threads = 1, MemorySpace* memory = nullptr)
      : directory_(std::move(directory)), backend_(backend), memory_(memory), threads_(threads) {}

  Expected<const Model*> get(Numerics numerics, IndexKeys index_keys, bool drafts);
  int threads() const { return threads_; }

 private:
  using Key = std::tuple<Numerics, IndexKeys, bool>;

  std::filesystem::path directory_;
  const Backend* backend_;
  MemorySpace* memory_;
  int threads_;
  std::map<Key, std::unique_ptr<LoadedModel>> loaded_;
};

// A span of an image in place of token embeddings.
struct ImageRows {
  std::vector<bool> image;       // [rows of one sequence]
  std::vector<float> embedding;  // [rows, dim], looked at where image
};

enum class Wanted { last, all };  // logits of the last row of each sequence, or of every row

class ModelRun {
 public:
  // `watcher` sees every forward and every draft block, before the observer of a single step does.
  ModelRun(const Model& model, std::int64_t batch, int threads, RunObserver* watcher = nullptr);

  // ids: [batch, rows]. Returns the logits, [batch, 1 or rows, vocab].
  Expected<std::vector<float>> step(std::span<const std::int64_t> ids, Wanted wanted, Observer* observer = nullptr,
                                    const ImageRows* images = nullptr);
  Expected<Drafts> draft(std::span<const std::int64_t> next);

  std::int64_t batch() const { return static_cast<std::int64_t>(sequences_.size()); }
  std::int64_t length() const { return sequences_.empty() ? 0 : sequences_.front().length(); }
  const Model& model() const { return model_; }
  const Sequence& sequence(std::int64_t number) const { return sequences_[static_cast<std::size_t>(number)]; }

 private:
  const Model& model_;
  Context context_;
  RunObserver* watcher_;
  std::vector<Sequence> sequences_;
  std::vector<Sequence*> pointers_;
};

// Columns first .. first + count - 1 of ids [batch, width].
std::vector<std::int64_t> columns(std::span<const std::int64_t> ids, std::int64_t width, std::int64_t first,
                                  std::int64_t count);

}  // namespace cachalot
