// SPDX-License-Identifier: Apache-2.0
// States of sequences to go on from: a prompt that begins as an earlier one runs only what is new in it, and gets the
// same bits (ARCHITECTURE.md, idea 4).
//
// A snapshot is the ids of the positions [0, s) and a sequence of length s: a copy of the rings, and pages shared with
// whoever else holds them. It serves every beginning in [s - slack, s], as far back as the sequence can be truncated.
//
// Who looks a prompt up gets a share of its own, which nobody else writes to; so a snapshot may be evicted while a
// request that began from it still runs. Not thread-safe: one owner, the one that decides what runs.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/seeded_hash.h"
#include "kv/checksum.h"
#include "kv/sequence.h"

namespace cachalot {

// Why a snapshot was taken; a later one is worth more.
enum class SnapshotKind : std::uint8_t {
  periodic,  // within a prompt, at a multiple of snapshot_every
  answer,    // within an answer, answer_every positions apart: its text may become other tokens in the next prompt
  header,    // behind the header of a prompt's last turn: where pruned reasoning makes the next prompt another
  end,       // at a request's end
};
const char* name(SnapshotKind kind);

struct PrefixCacheOptions {
  std::int64_t budget = std::int64_t{1} << 30;  // bytes of all snapshots; a page that several share counts once
  std::int64_t snapshot_every = 512;            // positions from one periodic snapshot to the next
  std::int64_t answer_every = 64;               // the same within an answer
  // What else the bits of a state hang on, such as the backend: only for who puts states in to compare.
  std::string mode{};
  // For requests that replay their prompts (spec 11), and no others: it keeps replayed states as well. What goes on
  // from one has windows that begin where earlier tails did, so its bits hang on what was asked before.
  bool replays = false;
  std::uint64_t (*hash)(std::uint64_t before, TokenId next) = chain_hash;
};

struct PrefixCacheStats {
  std::int64_t entries = 0, bytes = 0;  // now
  std::int64_t hits = 0, misses = 0;    // of find()
  std::int64_t cached_tokens = 0;       // of all hits
  std::int64_t evictions = 0;           // for want of room
  std::int64_t thinned = 0;             // periodic ones, as newer ones came
  std::int64_t too_large = 0;           // not kept: alone larger than the budget
  std::int64_t refused = 0;             // not kept: ids do not tell its images apart, or it was replayed
};

class PrefixCache {
 public:
  explicit PrefixCache(const PrefixCacheOptions& options = {}) : options_(options) {}

  const PrefixCacheOptions& options() const { return options_; }

  // The longest beginning of `prompt` that some snapshot can be truncated to, less than all of it: its last token gives
  // the logits. The sequence has its length, and every bit of a sequence that ran these tokens.
  std::optional<Sequence> find(std::span<const TokenId> prompt);

  // Keeps a share of `sequence`, which has committed exactly `ids`. One with the same ids is refreshed. Not kept are a
  // sequence with images, whose ids do not tell what they show; and, but for requests that replay, one that was
  // replayed, which is no exact state.
  //
  // Of the periodic snapshots that `ids` continue those remain whose distance from its end is at most 8 *
  // snapshot_every; of older ones, every second up to twice that, every fourth up to four times, and so on: about
  // 8 + 4 log2(positions / (8 * snapshot_every)) of them in all. Those that were hit more than once stay. Of those
  // within answers the same remain, by answer_every: who goes on `d` positions before the end runs at most
  // max(answer_every, d / 4) more of them than that.
  //
  // Where the budget is passed, snapshots go: first those that a newer one continues and that were hit at most once
  // (a conversation needs its newest end, and its newest header), then the others; of each kind the one that was used
  // longest ago first. `sequence` itself stays, unless it alone is larger than the budget: then it is not kept. Nor is
  // one within an answer where one of the others would have to go for it.
  void insert(std::span<const TokenId> ids, const Sequence& sequence, SnapshotKind kind);

  void clear();
  const PrefixCacheStats& stats() const { return stats_; }

 private:
  struct Entry {
    std::vector<TokenId> ids;
    Sequence sequence;
    SnapshotKind kind;
    std::uint64_t reach_hash;  // of the ids that it can be truncated to
    std::int64_t hits = 0;
    bool continued = false;  // by a newer snapshot that makes up for it

    std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
    bool passed_over() const { return continued && hits <= 1; }
    bool within() const { return kind == SnapshotKind::periodic || kind == SnapshotKind::answer; }
  };
  using Place = std::list<Entry>::iterator;
  struct Match {
    Place entry;
    std::int64_t length;  // of the common beginning
  };

  // Snapshots that have something of the beginning of `ids` in reach, and how much of it.
  std::vector<Match> matches(std::span<const TokenId> ids);
  void count(const Entry& entry, std::int64_t sign);
  void drop(Place entry);
  void continue_with(std::span<const Match> earlier, std::int64_t length, SnapshotKind kind);
  std::int64_t every(SnapshotKind kind) const;
  void make_room();

  PrefixCacheOptions options_;
  std::list<Entry> entries_;  // the one used last comes first
  HashMultimap<std::uint64_t, Place> by_reach_;
  HashMap<std::uint64_t, std::int64_t> page_holders_;  // snapshots per page
  PrefixCacheStats stats_;
};

}  // namespace cachalot
