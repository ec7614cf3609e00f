// SPDX-License-Identifier: Apache-2.0
#include "kv/stored_snapshots.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <random>
#include <system_error>

#include "kv/checksum.h"

namespace cachalot {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".cachalot-snapshot";
constexpr std::string_view writing = ".part";  // behind it

// Takes a number off the beginning of `text`, and `behind` after it.
template <class T>
bool take(std::string_view& text, int base, std::string_view behind, T& to) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), to, base);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(behind.size());
  return true;
}

bool is_leftover(const std::string& name) {
  if (!name.ends_with(writing)) return false;
  const std::size_t end = name.find(ending);
  return end != std::string::npos && SnapshotName::parse(name.substr(0, end + ending.size())).has_value();
}

// Regular files of the folder; links are not followed.
Status each_file(const fs::path& folder, const std::function<void(const fs::directory_entry&)>& see) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->symlink_status(gone).type() == fs::file_type::regular) see(*it);
  }
  if (error) return fail(Errc::io, "can't list the folder {}: {}", folder.string(), error.message());
  return {};
}

}  // namespace

std::string SnapshotName::text() const {
  return fmt::format("{:016x}-{}-{:016x}-{}-{:016x}{}", key, reachable, reach_hash, tokens, ids_hash, ending);
}

std::optional<SnapshotName> SnapshotName::parse(std::string_view text) {
  SnapshotName name;
  std::string_view rest = text;
  if (!take(rest, 16, "-", name.key) || !take(rest, 10, "-", name.reachable) || !take(rest, 16, "-", name.reach_hash) ||
      !take(rest, 10, "-", name.tokens) || !take(rest, 16, ending, name.ids_hash) || name.text() != text) {
    return std::nullopt;
  }
  return name;
}

std::uint64_t hash_of(const SnapshotKey& key) {
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  return checksum(bytes(key.mode), checksum(bytes(key.fingerprint)));
}

Expected<std::vector<StoredSnapshot>> stored_snapshots(const fs::path& folder) {
  std::vector<StoredSnapshot> all;
  const Status listed = each_file(folder, [&](const fs::directory_entry& entry) {
    const auto name = SnapshotName::parse(entry.path().filename().string());
    if (!name) return;
    std::error_code size_gone, time_gone;  // by another process, meanwhile
    const auto bytes = entry.file_size(size_gone);
    const auto time = entry.last_write_time(time_gone);
    if (!size_gone && !time_gone) all.push_back({entry.path(), *name, static_cast<std::int64_t>(bytes), time});
  });
  if (!listed) return tl::unexpected(listed.error());
  std::ranges::sort(all, [](const StoredSnapshot& a, const StoredSnapshot& b) {
    return a.last_use != b.last_use ? a.last_use < b.last_use : a.path < b.path;
  });
  return all;
}

Expected<SnapshotHeader> verify(const StoredSnapshot& snapshot) {
  std::ifstream in(snapshot.path, std::ios::binary);
  if (!in) return fail(Errc::missing, "can't open {}", snapshot.path.string());
  auto reader = SnapshotReader::open(in, snapshot.bytes, snapshot.path.string());
  if (!reader) return tl::unexpected(reader.error());
  if (Status good = reader->verify(); !good) return tl::unexpected(good.error());
  return reader->header();
}

Expected<Removed> remove_snapshots(const fs::path& folder, std::chrono::seconds age) {
  const auto all = stored_snapshots(folder);
  if (!all) return tl::unexpected(all.error());
  Removed removed;
  const auto now = fs::file_time_type::clock::now();
  for (const StoredSnapshot& s : *all) {
    if (age > age.zero() && now - s.last_use < age) continue;
    std::error_code error;
    if (fs::remove(s.path, error)) {
      ++removed.files;
      removed.bytes += s.bytes;
    } else if (error) {
      return fail(Errc::io, "can't remove {}: {}", s.path.string(), error.message());
    }
  }
  removed.unfinished = remove_leftovers(folder, age);
  return removed;
}

fs::path name_while_writing(const fs::path& path) {
  std::random_device random;
  return path.string() + fmt::format(".{:08x}{:08x}{}", random(), random(), writing);
}

std::int64_t remove_leftovers(const fs::path& folder, std::chrono::seconds age) {
  std::vector<fs::path> old;
  const auto now = fs::file_time_type::clock::now();
  const Status listed = each_file(folder, [&](const fs::directory_entry& entry) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (!gone && is_leftover(entry.path().filename().string()) && (age <= age.zero() || now - time > age))
      old.push_back(entry.path());
  });
  if (!listed) return 0;
  std::error_code ignored;
  return std::ranges::count_if(old, [&](const fs::path& path) { return fs::remove(path, ignored); });
}

Expected<UnfinishedSnapshots> unfinished_snapshots(const fs::path& folder) {
  UnfinishedSnapshots unfinished;
  const Status listed = each_file(folder, [&](const fs::directory_entry& entry) {
    std::error_code gone;
    const auto bytes = entry.file_size(gone);
    if (gone || !is_leftover(entry.path().filename().string())) return;
    ++unfinished.files;
    unfinished.bytes += static_cast<std::int64_t>(bytes);
  });
  if (!listed) return tl::unexpected(listed.error());
  return unfinished;
}

}  // namespace cachalot
