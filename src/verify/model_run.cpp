// SPDX-License-Identifier: Apache-2.0
#include "verify/model_run.h"

#include <array>
#include <limits>

namespace cachalot {
namespace {

// A number that is no token at all stays one, so that the model refuses it by name.
TokenId token_of(std::int64_t id) {
  const bool fits = id >= 0 && id <= std::numeric_limits<std::int32_t>::max();
  return TokenId{fits ? static_cast<std::int32_t>(id) : -1};
}

// Shows what passes by to one observer, then to the other.
class Both : public Observer {
 public:
  Both(Observer* first, Observer* second) : all_{first, second} {}
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override {
    for (Observer* o : all_) {
      if (o != nullptr) o->values(name, first_row, rows);
    }
  }
  void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) override {
    for (Observer* o : all_) {
      if (o != nullptr) o->numbers(name, first_row, rows);
    }
  }

 private:
  std::array<Observer*, 2> all_;
};

}  // namespace

Expected<const Model*> ModelSource::get(Numerics numerics, IndexKeys index_keys, bool drafts) {
  auto& slot = loaded_[Key(numerics, index_keys, drafts)];
  if (!slot) {
    ModelOptions options;
    options.backend = backend_;
    options.memory = memory_;
    options.numerics = numerics;
    options.index_keys = index_keys;
    options.drafts = drafts;
    auto loaded = load_model(directory_, options);
    if (!loaded) return tl::unexpected(loaded.error());
    slot = std::make_unique<LoadedModel>(std::move(*loaded));
  }
  return &slot->model;
}

ModelRun::ModelRun(const Model& model, std::int64_t batch, int threads, RunObserver* watcher)
    : model_(model), context_(threads, model.memory()), watcher_(watcher) {
  for (std::int64_t b = 0; b < batch; ++b) sequences_.push_back(model.new_sequence());
  for (Sequence& s : sequences_) pointers_.push_back(&s);
}

Expected<std::vector<float>> ModelRun::step(std::span<const std::int64_t> ids, Wanted wanted, Observer* observer,
                                            const ImageRows* images) {
  check(!sequences_.empty() && ids.size() % sequences_.size() == 0, "a step takes equally many ids per sequence");
  const std::size_t rows_each = ids.size() / sequences_.size();
  const auto dim = static_cast<std::size_t>(model_.config().dim);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t in_sequence = i % rows_each;
    Row row;
    row.sequence = static_cast<std::int32_t>(i / rows_each);
    row.token = token_of(ids[i]);
    row.wants_logits = wanted == Wanted::all || in_sequence + 1 == rows_each;
    if (images != nullptr && images->image[in_sequence]) {
      row.image = true;
      row.embedding = images->embedding.data() + in_sequence * dim;
    }
    rows.push_back(row);
  }
  Both both(watcher_, observer);
  if (watcher_ != nullptr) watcher_->begin(length(), static_cast<std::int64_t>(rows_each));
  std::vector<float> logits;
  if (Status done = model_.forward(context_, {pointers_, rows, watcher_ != nullptr ? &both : observer}, logits);
      !done) {
    return tl::unexpected(done.error());
  }
  return logits;
}

Expected<Drafts> ModelRun::draft(std::span<const std::int64_t> next) {
  std::vector<TokenId> tokens;
  for (const std::int64_t id : next) tokens.push_back(token_of(id));
  if (watcher_ != nullptr) watcher_->begin(length(), model_.config().dspark_block_size);
  return model_.draft(context_, pointers_, tokens, {}, watcher_);
}

std::vector<std::int64_t> columns(std::span<const std::int64_t> ids, std::int64_t width, std::int64_t first,
                                  std::int64_t count) {
  std::vector<std::int64_t> part;
  for (std::size_t row = 0; row < ids.size(); row += static_cast<std::size_t>(width)) {
    const auto from = ids.subspan(row + static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    part.insert(part.end(), from.begin(), from.end());
  }
  return part;
}

}  // namespace cachalot
