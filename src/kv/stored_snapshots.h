// SPDX-License-Identifier: Apache-2.0
// The files of a prefix store: what they are called, listing and removing them. Nothing else in the folder is touched.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "kv/snapshot_file.h"

namespace cachalot {

// The name says what a prompt must begin with, so that a look-up opens only what may serve it. What a name says is a
// hint: the file's own words count.
struct SnapshotName {
  std::uint64_t key = 0;       // hash of fingerprint and mode
  std::int64_t reachable = 0;  // and the chain hash of that many ids
  std::uint64_t reach_hash = 0;
  std::int64_t tokens = 0;
  std::uint64_t ids_hash = 0;

  std::string text() const;
  static std::optional<SnapshotName> parse(std::string_view text);  // nothing: that is no file of ours
  bool operator==(const SnapshotName&) const = default;
};
std::uint64_t hash_of(const SnapshotKey& key);

struct StoredSnapshot {
  std::filesystem::path path;
  SnapshotName name;
  std::int64_t bytes = 0;
  std::filesystem::file_time_type last_use{};
};

// The one used longest ago comes first. Errors: Errc::io where the folder can't be listed.
Expected<std::vector<StoredSnapshot>> stored_snapshots(const std::filesystem::path& folder);

// Its header, once every byte was read and found good. Errors: as SnapshotReader, and Errc::missing where the file is
// gone by now.
Expected<SnapshotHeader> verify(const StoredSnapshot& snapshot);

// Files that were not finished: somebody writes them now, or ended while writing. Errors: as above.
struct UnfinishedSnapshots {
  std::int64_t files = 0, bytes = 0;
};
Expected<UnfinishedSnapshots> unfinished_snapshots(const std::filesystem::path& folder);

struct Removed {
  std::int64_t files = 0, bytes = 0;
  std::int64_t unfinished = 0;  // files that were not finished, besides
};
// Removes all that were not used for `age`, and as old ones that were not finished; who is writing one can't put it in
// its place then. Errors: Errc::io, naming the first that can't be removed.
Expected<Removed> remove_snapshots(const std::filesystem::path& folder, std::chrono::seconds age = {});

// A name to write a snapshot under before it takes its own; other processes never choose the same.
std::filesystem::path name_while_writing(const std::filesystem::path& path);
// Removes what a process left that ended while it wrote, `age` ago or earlier. How many that were.
constexpr std::chrono::hours leftover_age{6};
std::int64_t remove_leftovers(const std::filesystem::path& folder, std::chrono::seconds age = leftover_age);

}  // namespace cachalot
