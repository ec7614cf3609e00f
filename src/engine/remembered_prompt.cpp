// SPDX-License-Identifier: Apache-2.0
#include "engine/remembered_prompt.h"

#include <algorithm>

#include "base/check.h"

namespace cachalot {

bool RememberedPrompt::Place::keep_beginning_of(std::span<const TokenId> prompt) {
  const auto differ = std::ranges::mismatch(ids, prompt.first(prompt.size() - 1));
  const auto same = differ.in1 - ids.begin();
  if (!sequence.truncate(same)) return false;
  ids.resize(static_cast<std::size_t>(same));
  return true;
}

std::int64_t RememberedPrompt::keep_beginning_of(std::span<const TokenId> prompt) {
  check(!prompt.empty(), "a prompt has a token");
  if (!now_.keep_beginning_of(prompt)) {
    if (mark_) now_ = {mark_->sequence.share(), mark_->ids};
    if (!mark_ || !now_.keep_beginning_of(prompt)) now_ = {Sequence(now_.sequence.shape()), {}};
  }
  return now_.sequence.length();
}

void RememberedPrompt::mark(std::span<const TokenId> prompt) {
  check(now_.sequence.length() == static_cast<std::int64_t>(prompt.size()), "the mark is the end of the prompt");
  mark_ = Place{now_.sequence.share(), {prompt.begin(), prompt.end()}};
}

void RememberedPrompt::set_ids(std::vector<TokenId> ids) {
  check(static_cast<std::int64_t>(ids.size()) >= now_.sequence.length(), "every committed token is known");
  now_.ids = std::move(ids);
  now_.ids.resize(static_cast<std::size_t>(now_.sequence.length()));
}

std::int64_t RememberedPrompt::bytes() const {
  const auto of = [](const Sequence& s) { return s.fixed_bytes() + s.page_bytes(); };
  return of(now_.sequence) + (mark_ ? of(mark_->sequence) : 0);
}

}  // namespace cachalot
