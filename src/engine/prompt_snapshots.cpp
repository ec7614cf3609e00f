// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt_snapshots.h"

#include <algorithm>

#include "base/check.h"
#include "engine/state_key.h"
#include "kv/prefix_cache.h"
#include "kv/prefix_store.h"

namespace cachalot {

PromptSnapshots::PromptSnapshots(const Model& model, const GenerateOptions& options, std::span<const TokenId> prompt)
    : prefixes_(options.prefixes), prompt_(prompt) {
  if (prefixes_.cache == nullptr) return;
  check(prefixes_.cache->options().mode == state_mode(model), "a prefix cache belongs to one model and one mode");
  check(options.before.empty(), "with a prefix cache the prompt is given as a whole");
}

std::int64_t PromptSnapshots::resume(Sequence& sequence) {
  if (prefixes_.cache == nullptr) return 0;
  check(sequence.length() == 0, "with a prefix cache the prompt is given as a whole");
  auto best = prefixes_.cache->find(prompt_);
  if (prefixes_.store != nullptr) {
    if (auto found = prefixes_.store->find(prompt_, best ? best->length() : 0)) {
      prefixes_.cache->insert(found->ids, found->sequence, found->kind);
      check(found->sequence.truncate(found->length).has_value(), "what is found is within reach");
      best = std::move(found->sequence);
      file_ = std::move(found->file);
    }
  }
  // A snapshot from within a replay leaves the windows of a shorter prompt cut.
  if (best && best->whole_window_at(std::ssize(prompt_) - 1)) sequence = std::move(*best);
  return sequence.length();
}

void PromptSnapshots::distrust() {
  prefixes_.store->distrust(file_, "with it the model's logits are no numbers");
  prefixes_.cache->clear();
  header_.reset();
  file_.clear();
}

std::int64_t PromptSnapshots::chunk(std::int64_t position, std::int64_t rows) const {
  if (prefixes_.cache == nullptr) return rows;
  const std::int64_t every = std::max<std::int64_t>(1, prefixes_.cache->options().snapshot_every);
  return std::min(rows, every - position % every);
}

void PromptSnapshots::committed(const Sequence& sequence) {
  if (prefixes_.cache == nullptr) return;
  const std::int64_t length = sequence.length();
  const auto ids = prompt_.first(static_cast<std::size_t>(length));
  decoded_ = length;
  if (length == std::ssize(prompt_)) {
    prefixes_.cache->insert(ids, sequence, SnapshotKind::header);
    if (prefixes_.store != nullptr) header_ = sequence.share();
  } else if (length % std::max<std::int64_t>(1, prefixes_.cache->options().snapshot_every) == 0) {
    prefixes_.cache->insert(ids, sequence, SnapshotKind::periodic);
  }
}

std::vector<TokenId> PromptSnapshots::ids_of(const Sequence& sequence, std::span<const GeneratedToken> tokens) const {
  std::vector<TokenId> ids(prompt_.begin(), prompt_.end());
  for (const GeneratedToken& t : tokens) ids.push_back(t.id);
  check(std::ssize(ids) >= sequence.length(), "every committed token is known");
  ids.resize(static_cast<std::size_t>(sequence.length()));  // the newest was drawn and not run
  return ids;
}

void PromptSnapshots::decoded(const Sequence& sequence, std::span<const GeneratedToken> tokens) {
  if (prefixes_.cache == nullptr) return;
  // A step with drafts may pass over the place.
  const std::int64_t every = std::max<std::int64_t>(1, prefixes_.cache->options().answer_every);
  if (sequence.length() / every == decoded_ / every) return;
  decoded_ = sequence.length();
  prefixes_.cache->insert(ids_of(sequence, tokens), sequence, SnapshotKind::answer);
}

void PromptSnapshots::end(const Sequence& sequence, std::span<const GeneratedToken> tokens) {
  if (prefixes_.cache == nullptr) return;
  const std::vector<TokenId> ids = ids_of(sequence, tokens);
  prefixes_.cache->insert(ids, sequence, SnapshotKind::end);
  if (prefixes_.store == nullptr) return;
  const auto save = [&](const Sequence& state, SnapshotKind kind) {
    const Status saved =
        prefixes_.store->save(std::span(ids).first(static_cast<std::size_t>(state.length())), state, kind);
    if (!saved && prefixes_.store->options().tell) prefixes_.store->options().tell(saved.error().message);
  };
  // Where the end reaches back to the header, it serves for both.
  if (header_ && header_->length() < sequence.reachable()) save(*header_, SnapshotKind::header);
  save(sequence, SnapshotKind::end);
}

}  // namespace cachalot
