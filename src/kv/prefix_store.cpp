// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/private_folder.h"
#include "kv/checksum.h"
#include "kv/state_numbers.h"

namespace cachalot {
namespace fs = std::filesystem;
namespace {

std::uint64_t hash_of(std::span<const TokenId> ids) {
  std::uint64_t hash = no_tokens_hash;
  for (const TokenId id : ids) hash = chain_hash(hash, id);
  return hash;
}

void touch(const fs::path& path) {
  std::error_code ignored;  // it may be gone, or another's: then it is only less likely to stay
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

}  // namespace

PrefixStore::PrefixStore(PrefixStoreOptions options) : options_(std::move(options)), key_hash_(hash_of(options_.key)) {}

Expected<PrefixStore> PrefixStore::open(PrefixStoreOptions options) {
  const fs::path& folder = options.folder;
  if (Status made = make_private_folder(folder); !made) return tl::unexpected(made.error());  // prompts are private
  const auto others = why_not_private(folder);
  if (!others) return tl::unexpected(others.error());
  if (*others && !options.trusted) {
    return fail(Errc::io,
                "{}: who can do that decides what later runs take for read; name another folder, or trust it with "
                "--trust-cache",
                **others);
  }
  remove_leftovers(folder);
  return PrefixStore(std::move(options));
}

std::optional<PrefixStore::Found> PrefixStore::find(std::span<const TokenId> prompt, std::int64_t longer_than) {
  check(!prompt.empty(), "a prompt has a token");
  const auto most = std::ssize(prompt) - 1;
  auto all = stored_snapshots(options_.folder);
  if (!all) return std::nullopt;
  std::erase_if(*all, [&](const StoredSnapshot& s) {
    return s.name.key != key_hash_ || s.name.reachable > most || s.name.reachable < 0 ||
           std::min(s.name.tokens, most) <= longer_than || passed_over_.contains(s.path);
  });
  std::ranges::sort(*all, std::greater(), [](const StoredSnapshot& s) { return s.name.tokens; });
  std::vector<std::uint64_t> hashes = {no_tokens_hash};  // of every beginning
  if (!all->empty()) {
    for (const TokenId id : prompt) hashes.push_back(chain_hash(hashes.back(), id));
  }
  std::optional<Found> best;
  for (const StoredSnapshot& s : *all) {
    if (std::min(s.name.tokens, most) <= longer_than) break;  // nor do those behind it
    if (hashes[static_cast<std::size_t>(s.name.reachable)] != s.name.reach_hash) continue;
    if (auto found = load(s, prompt, longer_than)) {
      longer_than = found->length;
      best = std::move(found);
      touch(s.path);
    }
  }
  return best;
}

std::optional<PrefixStore::Found> PrefixStore::load(const StoredSnapshot& snapshot, std::span<const TokenId> prompt,
                                                    std::int64_t longer_than) {
  std::ifstream in(snapshot.path, std::ios::binary);
  if (!in) return std::nullopt;  // gone meanwhile
  const auto failed = [&](const Error& why) -> std::optional<Found> {
    drop(snapshot, why);
    return std::nullopt;
  };
  auto reader = SnapshotReader::open(in, snapshot.bytes, snapshot.path.string());
  if (!reader) return failed(reader.error());
  const SnapshotHeader& header = reader->header();
  if (!header.key.same_state(options_.key)) {
    return failed({Errc::missing, message("{} is of another model or mode ({}, {})", snapshot.path.string(),
                                          header.key.model, header.key.mode)});
  }
  auto ids = reader->ids();
  if (!ids) return failed(ids.error());
  const std::int64_t length = std::ranges::mismatch(*ids, prompt.first(prompt.size() - 1)).in1 - ids->begin();
  if (length <= longer_than || length < header.numbers.reachable) return std::nullopt;
  auto sequence = reader->state(options_.pools);
  if (!sequence) return failed(sequence.error());
  return Found{std::move(*ids), std::move(*sequence), header.kind, length, snapshot.path};
}

void PrefixStore::drop(const StoredSnapshot& snapshot, const Error& why) {
  std::error_code gone;
  // What another version or model can use stays. Another process may have put a good one in its place by now; it can
  // be made again.
  const bool removed = why.code == Errc::format && fs::remove(snapshot.path, gone);
  passed_over_.insert(snapshot.path);
  if (options_.tell) options_.tell(message("{}; it is {}", why.message, removed ? "removed" : "passed over"));
}

void PrefixStore::distrust(const fs::path& snapshot, std::string_view why) {
  drop({.path = snapshot, .name = {}}, {Errc::format, message("{}: {}", snapshot.string(), why)});
}

Status PrefixStore::save(std::span<const TokenId> ids, const Sequence& sequence, SnapshotKind kind) {
  check(std::ssize(ids) == sequence.length(), "a snapshot has as many ids as positions");
  if (ids.empty() || kind < SnapshotKind::header || !sequence.text_only() || sequence.replayed()) return {};
  if (!holds_numbers(sequence)) return {};  // weights are damaged: whoever reads this would not believe it
  const SnapshotHeader header{options_.key, kind, sequence.numbers()};
  if (snapshot_bytes(header, sequence) > options_.budget) return {};
  const SnapshotName name{.key = key_hash_,
                          .reachable = sequence.reachable(),
                          .reach_hash = hash_of(ids.first(static_cast<std::size_t>(sequence.reachable()))),
                          .tokens = sequence.length(),
                          .ids_hash = hash_of(ids)};
  const fs::path path = options_.folder / name.text();
  const auto same_ids = [&](const StoredSnapshot& s) {
    return s.name.key == name.key && s.name.tokens == name.tokens && s.name.ids_hash == name.ids_hash &&
           !passed_over_.contains(s.path);
  };
  auto all = stored_snapshots(options_.folder);
  if (!all) return tl::unexpected(all.error());
  std::erase_if(*all, [&](const StoredSnapshot& s) { return !same_ids(s); });
  for (const StoredSnapshot& s : *all) {
    if (s.name.reachable > name.reachable) continue;
    touch(s.path);
    return {};
  }
  std::error_code error;
  const fs::path beside = name_while_writing(path);
  Status written = write_snapshot(beside, header, ids, sequence);
  if (written) {
    fs::rename(beside, path, error);
    if (error) written = fail(Errc::io, "can't put {} in its place: {}", path.string(), error.message());
  }
  if (!written) {
    fs::remove(beside, error);
    return written;
  }
  passed_over_.erase(path);
  for (const StoredSnapshot& s : *all) fs::remove(s.path, error);  // the new one reaches further back
  make_room(path);
  return {};
}

void PrefixStore::make_room(const fs::path& newest) {
  const auto all = stored_snapshots(options_.folder);
  if (!all) return;
  std::int64_t bytes = 0;
  for (const StoredSnapshot& s : *all) bytes += s.bytes;
  for (const StoredSnapshot& s : *all) {
    if (bytes <= options_.budget) return;
    if (s.path == newest) continue;
    std::error_code gone;
    fs::remove(s.path, gone);
    bytes -= s.bytes;
  }
}

}  // namespace cachalot
