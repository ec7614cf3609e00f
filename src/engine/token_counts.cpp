// SPDX-License-Identifier: Apache-2.0
#include "engine/token_counts.h"

#include "base/check.h"

namespace cachalot {

void TokenCounts::clear() {
  for (const Entry& e : entries_) place_[static_cast<std::size_t>(raw(e.id))] = -1;
  entries_.clear();
}

TokenCounts::Entry& TokenCounts::entry(TokenId token) {
  check(raw(token) >= 0, "a token that is counted has an id");
  const auto id = static_cast<std::size_t>(raw(token));
  if (id >= place_.size()) place_.resize(id + 1, -1);
  if (place_[id] < 0) {
    place_[id] = static_cast<std::int32_t>(entries_.size());
    entries_.push_back({token, 0, false});
  }
  return entries_[static_cast<std::size_t>(place_[id])];
}

void TokenCounts::add_prompt(TokenId token) { entry(token).in_prompt = true; }

void TokenCounts::push(TokenId token) { ++entry(token).made; }

void TokenCounts::pop(TokenId token) {
  Entry& e = entry(token);
  check(e.made > 0, "only a token that was pushed is taken back");
  if (--e.made > 0 || e.in_prompt) return;
  // Its first occurrence went, so every entry made after it has gone before it.
  check(&e == &entries_.back(), "tokens are taken back newest first");
  place_[static_cast<std::size_t>(raw(token))] = -1;
  entries_.pop_back();
}

}  // namespace cachalot
