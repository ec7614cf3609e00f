// SPDX-License-Identifier: Apache-2.0
#include "kv/sequence.h"

#include <algorithm>

#include "base/check.h"

namespace cachalot {

Sequence::Sequence(const StatePools& pools)
    : pools_(pools),
      ring_(pools.new_ring()),
      pages_(shape().sources.size()),
      class_(static_cast<std::size_t>(std::max<std::int64_t>(1, shape().history + shape().slack))),
      dead_(class_.size()) {}

Sequence Sequence::share() const {
  Sequence other(pools_);
  other.length_ = length_;
  other.reachable_ = reachable_;
  other.tail_start_ = tail_start_;
  other.published_ = published_;
  other.text_only_ = text_only_;
  other.ring_.copy(ring_);
  for (std::size_t s = 0; s < pages_.size(); ++s) {
    for (const HeldBlock& page : pages_[s]) other.pages_[s].push_back(page.share());
  }
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

void Sequence::make_groups(std::int64_t source, std::int64_t first, std::int64_t end) {
  if (first >= end) return;
  auto& pages = pages_[static_cast<std::size_t>(source)];
  const std::int64_t in_page = shape().page_groups(source);
  check(first <= std::ssize(pages) * in_page, "groups are written in order, page by page");
  for (std::int64_t p = first / in_page; p <= (end - 1) / in_page; ++p) {
    if (p == std::ssize(pages)) {
      pages.push_back(pools_.new_page(source));
    } else {
      pages[static_cast<std::size_t>(p)].make_own();
    }
  }
}

void Sequence::commit(const StepState& step) {
  for (std::int64_t row = 0; row < step.rows; ++row) {
    class_[history_slot(length_ + row)] = step.token_class[static_cast<std::size_t>(row)];
    dead_[history_slot(length_ + row)] = step.dead[static_cast<std::size_t>(row)];
    text_only_ = text_only_ && step.dead[static_cast<std::size_t>(row)] == 0;
  }
  if (step.published >= 0) published_ = step.published;
  if (step.global_only > 0) tail_start_ = length_ + step.global_only;
  length_ += step.rows;
  reachable_ = std::max(reachable_, length_ - shape().slack);
  if (replayed()) reachable_ = std::max(reachable_, whole_window_from(tail_start_));
}

std::int64_t Sequence::page_bytes() const {
  std::int64_t n = 0;
  each_page([&](std::uint64_t, std::int64_t bytes) { n += bytes; });
  return n;
}

std::int64_t Sequence::fixed_bytes() const {
  std::int64_t n = static_cast<std::int64_t>(class_.size() * (sizeof(std::int32_t) + 1));
  for (const Part& part : ring_parts()) n += part.bytes;
  for (std::int64_t s = 0; s < std::ssize(pages_); ++s) n += shape().input_bytes(s);
  return n;
}

}  // namespace cachalot
