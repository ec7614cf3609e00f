// SPDX-License-Identifier: Apache-2.0
// A folder of snapshots, so that a prompt's beginning need not be run again by the next process. Only what a later
// request is likely to begin with goes there: snapshots of kind `header` and `end`. The others stay in memory.
//
// Nothing in the folder is ever needed: what is damaged, cut, of another model or version, or holds what is no state is
// a miss, told in one line and never an error. But a state can't be told from one that somebody made up with care, so
// that a folder where others may write (base/private_folder.h) is refused unless it is trusted. Several processes may
// use one folder: a file appears whole, under its own name, and one that vanishes is a miss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "kv/snapshot_file.h"
#include "kv/stored_snapshots.h"

namespace cachalot {

struct PrefixStoreOptions {
  std::filesystem::path folder;
  SnapshotKey key;
  StatePools pools;                              // of the model: what is found lies there
  std::int64_t budget = std::int64_t{1} << 30;   // bytes of all snapshots in the folder, whosever they are
  std::function<void(std::string_view)> tell{};  // what was dropped, and why
  bool trusted = false;                          // also where others may write to the folder
};

class PrefixStore {
 public:
  // Makes the folder, for its owner alone, where there is none. Errors: Errc::io, also for one that is not trusted.
  static Expected<PrefixStore> open(PrefixStoreOptions options);

  struct Found {
    std::vector<TokenId> ids;  // of all of the sequence
    Sequence sequence;
    SnapshotKind kind;
    std::int64_t length;  // of the beginning of the prompt that it can be truncated to
    std::filesystem::path file;
  };
  // The snapshot that serves the longest beginning of `prompt`, less than all of it and more than `longer_than` tokens.
  std::optional<Found> find(std::span<const TokenId> prompt, std::int64_t longer_than);

  // Takes a snapshot that find() gave for a bad one: it is removed, told with `why`, and not found again.
  void distrust(const std::filesystem::path& snapshot, std::string_view why);

  // Keeps it; one that is there already was used just now. Where the budget is passed, snapshots go that were used
  // longest ago, but not this one. One that alone is larger than the budget, has images, was replayed, or is periodic
  // is not kept. Errors: Errc::io.
  Status save(std::span<const TokenId> ids, const Sequence& sequence, SnapshotKind kind);

  const PrefixStoreOptions& options() const { return options_; }

 private:
  explicit PrefixStore(PrefixStoreOptions options);

  std::optional<Found> load(const StoredSnapshot& snapshot, std::span<const TokenId> prompt, std::int64_t longer_than);
  void drop(const StoredSnapshot& snapshot, const Error& why);
  void make_room(const std::filesystem::path& newest);

  PrefixStoreOptions options_;
  std::uint64_t key_hash_;
  std::set<std::filesystem::path> passed_over_;  // told once that they are of no use
};

}  // namespace cachalot
