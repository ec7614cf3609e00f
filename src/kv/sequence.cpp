// SPDX-License-Identifier: Apache-2.0
#include "kv/sequence.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace cachalot {

Sequence::Sequence(const StateShape& shape)
    : shape_(shape),
      class_(static_cast<std::size_t>(std::max<std::int64_t>(1, shape.history + shape.slack))),
      dead_(class_.size()) {
  for (std::int64_t i = 0; i < shape.rings; ++i) rings_.emplace_back(shape.ring_slots(), shape.head_dim);
  for (const SourceShape& s : shape.sources) {
    const std::int64_t page_groups = shape.page_tokens / s.ratio;
    const std::int64_t inputs = s.ratio > 1 ? (s.ratio + shape.slack) * 2 * shape.head_dim : 0;
    sources_.push_back({PagedStore(compressed_format, compressed_layout, shape.head_dim, page_groups),
                        PagedStore(index_key_format, index_key_layout, shape.index_head_dim, page_groups),
                        std::vector<float>(static_cast<std::size_t>(inputs))});
  }
}

Sequence Sequence::share() const {
  Sequence other(shape_);
  other.length_ = length_;
  other.reachable_ = reachable_;
  other.tail_start_ = tail_start_;
  other.published_ = published_;
  other.text_only_ = text_only_;
  other.rings_ = rings_;
  for (std::size_t s = 0; s < sources_.size(); ++s) other.sources_[s] = sources_[s].share();
  other.class_ = class_;
  other.dead_ = dead_;
  return other;
}

Status Sequence::truncate(std::int64_t length) {
  check(length >= 0 && length <= length_, "truncate goes back to a length the sequence has had");
  if (length < reachable()) {
    return fail(Errc::range, "truncate to {} positions: the state of this sequence reaches back to {}, not further{}",
                length, reachable(),
                tail_start_ > 0 && reachable_ == whole_window_from(tail_start_)
                    ? ": before it, the windows of a replayed prompt would not be whole (spec 11)"
                    : "");
  }
  length_ = length;
  return {};
}

void Sequence::commit(const StepState& step) {
  check(step.window.size() == rings_.size() && step.group_kv.size() == sources_.size(),
        "a step hands over every ring and source");
  for (std::size_t i = 0; i < rings_.size(); ++i)
    rings_[i].write(length_ + step.rows - step.window[i].rows, step.window[i]);
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    if (shape_.sources[s].ratio == 1) continue;
    const std::int64_t slots = input_slots(static_cast<std::int64_t>(s));
    for (std::int64_t row = std::max<std::int64_t>(0, step.rows - slots); row < step.rows; ++row) {
      float* to = sources_[s].inputs.data() + (length_ + row) % slots * 2 * shape_.head_dim;
      std::memcpy(to, step.group_kv[s] + row * shape_.head_dim, dim * sizeof(float));
      std::memcpy(to + dim, step.group_score[s] + row * shape_.head_dim, dim * sizeof(float));
    }
  }
  for (std::int64_t row = 0; row < step.rows; ++row) {
    class_[history_slot(length_ + row)] = step.token_class[static_cast<std::size_t>(row)];
    dead_[history_slot(length_ + row)] = step.dead[static_cast<std::size_t>(row)];
    text_only_ = text_only_ && step.dead[static_cast<std::size_t>(row)] == 0;
  }
  if (step.published >= 0) published_ = step.published;
  if (step.global_only > 0) tail_start_ = length_ + step.global_only;
  length_ += step.rows;
  reachable_ = std::max(reachable_, length_ - shape_.slack);
  if (replayed()) reachable_ = std::max(reachable_, whole_window_from(tail_start_));
}

std::int64_t Sequence::page_bytes() const {
  std::int64_t n = 0;
  for (const Source& s : sources_) n += s.compressed.bytes() + s.index_keys.bytes();
  return n;
}

std::int64_t Sequence::fixed_bytes() const {
  std::int64_t n = static_cast<std::int64_t>(class_.size() * (sizeof(std::int32_t) + 1));
  for (const WindowRing& r : rings_) n += r.bytes();
  for (const Source& s : sources_) n += static_cast<std::int64_t>(s.inputs.size() * sizeof(float));
  return n;
}

}  // namespace cachalot
