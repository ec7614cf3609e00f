// SPDX-License-Identifier: Apache-2.0
// A snapshot as a file, restored to the bit. Layout, all numbers little-endian:
//
//   "CACHASNP", version (u32), bytes of the header (u32), the header (JSON), checksum of all that (u64)
//   sections, each: its bytes (u64), the bytes, checksum of both (u64)
//     token ids (i32 each), then the parts of Sequence::each_part in their order
//
// A reader trusts nothing: sizes follow from the header and from the shape that the model has, are checked against the
// file's before anything is allocated, and every byte is under a checksum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "kv/prefix_cache.h"
#include "kv/sequence.h"

namespace cachalot {

// What a state's bits hang on. A file is of use only where all but the name is the same.
struct SnapshotKey {
  std::string model;        // a name for people
  std::string fingerprint;  // of the model's files
  std::string mode;         // backend, SIMD level, numerics, …

  bool same_state(const SnapshotKey& other) const { return fingerprint == other.fingerprint && mode == other.mode; }
};

struct SnapshotHeader {
  SnapshotKey key;
  SnapshotKind kind = SnapshotKind::end;
  StateNumbers numbers;  // its length is the number of ids
};

// Raised with the layout, and whenever a change of ours changes a bit of what a sequence holds.
inline constexpr std::uint32_t snapshot_version = 2;

std::int64_t snapshot_bytes(const SnapshotHeader& header, const Sequence& sequence);

// Errors: Errc::io.
Status write_snapshot(const std::filesystem::path& path, const SnapshotHeader& header, std::span<const TokenId> ids,
                      const Sequence& sequence);

// Reads one, in this order: open, then ids, then state or verify. Errors, here and below: Errc::format for what is
// damaged or no snapshot, Errc::range for another version, Errc::io, and Errc::memory.
class SnapshotReader {
 public:
  enum class Checksums { compared, ignored };  // ignored: for the fuzzer, which would not get past them

  // Borrows `in`, which has `bytes` bytes; `what` names it in messages.
  static Expected<SnapshotReader> open(std::istream& in, std::int64_t bytes, std::string what,
                                       Checksums checksums = Checksums::compared);

  const SnapshotHeader& header() const { return header_; }
  Expected<std::vector<TokenId>> ids();
  Expected<Sequence> state(const StatePools& pools);
  Status verify();  // the rest of the file, whatever its shape

 private:
  SnapshotReader(std::istream& in, std::int64_t bytes, std::string what, Checksums checksums)
      : in_(&in), left_(bytes), what_(std::move(what)), checksums_(checksums) {}

  Status read_header();
  Status read(std::span<std::byte> to);
  Expected<std::uint64_t> size_of_section();
  Status section(std::span<std::byte> to);
  Status end_of_section(std::uint64_t size, std::span<const std::byte> bytes);

  std::istream* in_;
  std::int64_t left_;
  std::string what_;
  Checksums checksums_;
  SnapshotHeader header_;
};

}  // namespace cachalot
