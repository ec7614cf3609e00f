// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cachalot {
namespace {

// What a snapshot takes that no other shares.
std::int64_t own_bytes(std::int64_t length, const Sequence& sequence) {
  return sequence.fixed_bytes() + length * static_cast<std::int64_t>(sizeof(TokenId)) +
         static_cast<std::int64_t>(sizeof(Sequence));
}

// Whether one of many snapshots on the way remains: number `index` of its kind, `age` of them before the newest.
bool remains(std::int64_t index, std::int64_t age) {
  std::int64_t stride = 1;
  for (std::int64_t dense = 8; age > dense; dense *= 2) stride *= 2;
  return index % stride == 0;
}

}  // namespace

const char* name(SnapshotKind kind) {
  switch (kind) {
    case SnapshotKind::periodic:
      return "periodic";
    case SnapshotKind::answer:
      return "answer";
    case SnapshotKind::header:
      return "header";
    case SnapshotKind::end:
      return "end";
  }
  return "?";
}

std::vector<PrefixCache::Match> PrefixCache::matches(std::span<const TokenId> ids) {
  std::vector<Match> found;
  std::uint64_t hash = hash_secret().first;
  for (std::size_t reach = 0;; ++reach) {
    const auto [first, last] = by_reach_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const Entry& e = *it->second;
      if (e.sequence.reachable() != static_cast<std::int64_t>(reach)) continue;
      const auto same = std::ranges::mismatch(e.ids, ids).in1 - e.ids.begin();
      if (same >= e.sequence.reachable()) found.push_back({it->second, same});
    }
    if (reach == ids.size()) return found;
    hash = options_.hash(hash, ids[reach]);
  }
}

std::optional<Sequence> PrefixCache::find(std::span<const TokenId> prompt) {
  check(!prompt.empty(), "a prompt has a token");
  const auto all = matches(prompt.first(prompt.size() - 1));
  const auto best = std::ranges::max_element(all, {}, &Match::length);
  if (best == all.end() || best->length == 0) {
    ++stats_.misses;
    return std::nullopt;
  }
  Entry& entry = *best->entry;
  ++entry.hits;
  entries_.splice(entries_.begin(), entries_, best->entry);
  ++stats_.hits;
  stats_.cached_tokens += best->length;
  Sequence sequence = entry.sequence.share();
  check(sequence.truncate(best->length).has_value(), "a match is within reach");
  return sequence;
}

void PrefixCache::insert(std::span<const TokenId> ids, const Sequence& sequence, SnapshotKind kind) {
  const std::int64_t length = std::ssize(ids);
  check(length == sequence.length(), "a snapshot has as many ids as positions");
  if (length == 0) return;
  if (!sequence.text_only() || (sequence.replayed() && !options_.replays)) {
    ++stats_.refused;
    return;
  }
  std::vector<Match> earlier = matches(ids);
  const auto same =
      std::ranges::find_if(earlier, [&](const Match& m) { return m.length == length && m.entry->length() == length; });
  if (same != earlier.end() && same->entry->sequence.reachable() <= sequence.reachable()) {
    same->entry->kind = kind = std::max(same->entry->kind, kind);
    entries_.splice(entries_.begin(), entries_, same->entry);
  } else {
    if (same != earlier.end()) {  // the new one reaches further back
      kind = std::max(same->entry->kind, kind);
      drop(same->entry);
      earlier.erase(same);
    }
    if (own_bytes(length, sequence) + sequence.page_bytes() > options_.budget) {
      ++stats_.too_large;
      return;
    }
    std::uint64_t hash = hash_secret().first;
    for (const TokenId id : ids.first(static_cast<std::size_t>(sequence.reachable()))) hash = options_.hash(hash, id);
    entries_.push_front({{ids.begin(), ids.end()}, sequence.share(), kind, hash});
    by_reach_.emplace(hash, entries_.begin());
    count(entries_.front(), 1);
  }
  continue_with(earlier, length, kind);
  make_room();
}

std::int64_t PrefixCache::every(SnapshotKind kind) const {
  return std::max<std::int64_t>(1, kind == SnapshotKind::answer ? options_.answer_every : options_.snapshot_every);
}

// Tells the snapshots that the newest one continues.
void PrefixCache::continue_with(std::span<const Match> earlier, std::int64_t length, SnapshotKind kind) {
  std::int64_t newest = 0;  // header or end
  const auto continues = [&](const Match& m) { return m.length == m.entry->length() && m.length < length; };
  for (const Match& m : earlier) {
    if (continues(m) && !m.entry->within()) newest = std::max(newest, m.length);
  }
  const bool of_answer = kind == SnapshotKind::answer || kind == SnapshotKind::end;
  for (const Match& m : earlier) {
    if (!continues(m)) continue;
    const bool its_header = of_answer && m.entry->kind == SnapshotKind::header && m.length == newest;
    m.entry->continued = m.entry->continued || !its_header;
    if (!m.entry->within() || !m.entry->passed_over()) continue;
    const std::int64_t apart = every(m.entry->kind);
    if (!remains(m.length / apart, (length - m.length) / apart)) {
      drop(m.entry);
      ++stats_.thinned;
    }
  }
}

void PrefixCache::make_room() {
  while (stats_.bytes > options_.budget) {
    // From the one used longest ago; the first in the list was just put in.
    auto victim = std::prev(entries_.end());
    for (auto it = victim; it != entries_.begin(); --it) {
      if (!it->passed_over()) continue;
      victim = it;
      break;
    }
    if (entries_.front().kind == SnapshotKind::answer && !victim->passed_over()) victim = entries_.begin();
    check(victim != entries_.begin() || entries_.size() > 1, "one snapshot alone is within the budget");
    drop(victim);
    ++stats_.evictions;
  }
}

void PrefixCache::count(const Entry& entry, std::int64_t sign) {
  stats_.entries += sign;
  stats_.bytes += sign * own_bytes(entry.length(), entry.sequence);
  entry.sequence.each_page([&](std::uint64_t page, std::int64_t bytes) {
    const std::int64_t holders = page_holders_[page] += sign;
    if (holders == (sign > 0 ? 1 : 0)) stats_.bytes += sign * bytes;
    if (holders == 0) page_holders_.erase(page);
  });
}

void PrefixCache::drop(Place entry) {
  count(*entry, -1);
  const auto [first, last] = by_reach_.equal_range(entry->reach_hash);
  by_reach_.erase(std::find_if(first, last, [&](const auto& at) { return at.second == entry; }));
  entries_.erase(entry);
}

void PrefixCache::clear() {
  while (!entries_.empty()) drop(entries_.begin());
}

}  // namespace cachalot
