// SPDX-License-Identifier: Apache-2.0
#include "kv/snapshot_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>

#include "base/json.h"
#include "base/output_file.h"
#include "kv/checksum.h"
#include "kv/state_bytes.h"
#include "kv/state_numbers.h"

namespace cachalot {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold numbers as this machine does");

constexpr std::string_view magic = "CACHASNP";
constexpr std::size_t before_header = magic.size() + 2 * sizeof(std::uint32_t);
constexpr std::uint32_t most_header_bytes = 1 << 16;
constexpr std::int64_t around_section = 2 * sizeof(std::uint64_t);

std::span<const std::byte> bytes_of(const auto& value) { return std::as_bytes(std::span(&value, 1)); }

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string header_text(const SnapshotHeader& header) {
  return Json::object({{"model", header.key.model},
                       {"fingerprint", header.key.fingerprint},
                       {"mode", header.key.mode},
                       {"kind", name(header.kind)},
                       {"tokens", header.numbers.length},
                       {"reachable", header.numbers.reachable},
                       {"published", header.numbers.published}})
      .dump();
}

// Writes at the end of a file.
struct Appender {
  OutputFile& file;
  std::int64_t at = 0;
  Status status{};

  void add(std::span<const std::byte> bytes) {
    if (status) status = file.write_at(at, bytes);
    at += std::ssize(bytes);
  }
  void add_section(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    const std::uint64_t sum = checksum(bytes, checksum(bytes_of(size)));
    add(bytes_of(size));
    add(bytes);
    add(bytes_of(sum));
  }
};

std::optional<SnapshotHeader> header_of(const Json& json) {
  SnapshotHeader header;
  const auto text = [&](std::string_view key, std::string& to) {
    const Json* value = json.find(key);
    if (value == nullptr || !value->is_string()) return false;
    to = *value->as_string();
    return true;
  };
  const auto number = [&](std::string_view key) {
    const Json* value = json.find(key);
    return value == nullptr ? std::optional<std::int64_t>() : value->as_int64();
  };
  std::string kind;
  if (!text("model", header.key.model) || !text("fingerprint", header.key.fingerprint) ||
      !text("mode", header.key.mode) || !text("kind", kind)) {
    return std::nullopt;
  }
  const auto tokens = number("tokens"), reachable = number("reachable"), published = number("published");
  if (!tokens || !reachable || !published || *published < -1 || *published > 1 << 20) return std::nullopt;
  header.numbers = {*tokens, *reachable, static_cast<int>(*published)};
  for (const SnapshotKind k : {SnapshotKind::periodic, SnapshotKind::answer, SnapshotKind::header, SnapshotKind::end}) {
    if (kind != name(k)) continue;
    header.kind = k;
    return header;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t snapshot_bytes(const SnapshotHeader& header, const Sequence& sequence) {
  std::int64_t n = std::ssize(header_text(header)) + static_cast<std::int64_t>(before_header + sizeof(std::uint64_t));
  n += around_section + sequence.length() * static_cast<std::int64_t>(sizeof(TokenId));
  sequence.each_part([&](std::span<const std::byte> part) { n += around_section + std::ssize(part); });
  return n;
}

Status write_snapshot(const std::filesystem::path& path, const SnapshotHeader& header, std::span<const TokenId> ids,
                      const Sequence& sequence) {
  auto file = OutputFile::create(path, OutputFile::Readers::owner);  // token ids are what somebody wrote
  if (!file) return tl::unexpected(file.error());
  const std::string text = header_text(header);
  const auto size = static_cast<std::uint32_t>(text.size());
  std::vector<std::byte> start;
  for (const auto part : {bytes_of_text(magic), bytes_of(snapshot_version), bytes_of(size), bytes_of_text(text)})
    start.insert(start.end(), part.begin(), part.end());
  const std::uint64_t sum = checksum(start);
  Appender to{*file};
  to.add(start);
  to.add(bytes_of(sum));
  to.add_section(std::as_bytes(ids));
  sequence.each_part([&](std::span<const std::byte> part) { to.add_section(part); });
  if (!to.status) return to.status;
  return file->close();
}

Expected<SnapshotReader> SnapshotReader::open(std::istream& in, std::int64_t bytes, std::string what,
                                              Checksums checksums) {
  SnapshotReader reader(in, bytes, std::move(what), checksums);
  if (Status good = reader.read_header(); !good) return tl::unexpected(good.error());
  return reader;
}

Status SnapshotReader::read(std::span<std::byte> to) {
  if (std::ssize(to) > left_) {
    return fail(Errc::format, "{} is cut short: {} bytes are left where {} are wanted", what_, left_, to.size());
  }
  in_->read(reinterpret_cast<char*>(to.data()), std::ssize(to));
  if (in_->gcount() != std::ssize(to)) return fail(Errc::io, "can't read {}", what_);
  left_ -= std::ssize(to);
  return {};
}

Status SnapshotReader::read_header() {
  std::vector<std::byte> start(before_header);
  if (Status good = read(start); !good) return good;
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    return fail(Errc::format, "{} is no snapshot: it does not begin with {}", what_, magic);
  std::array<std::uint32_t, 2> numbers{};
  std::memcpy(numbers.data(), start.data() + magic.size(), sizeof(numbers));
  const auto [version, size] = numbers;
  if (version != snapshot_version) {
    return fail(Errc::range, "{} has version {} of the format, this program reads version {}", what_, version,
                snapshot_version);
  }
  if (size > most_header_bytes) return fail(Errc::format, "{}: a header of {} bytes is none", what_, size);
  start.resize(before_header + size);
  if (Status good = read(std::span(start).subspan(before_header)); !good) return good;
  std::uint64_t sum = 0;
  if (Status good = read(std::as_writable_bytes(std::span(&sum, 1))); !good) return good;
  if (checksums_ == Checksums::compared && sum != checksum(start))
    return fail(Errc::format, "{} is damaged: its header has another checksum", what_);
  const std::string_view text(reinterpret_cast<const char*>(start.data()) + before_header, size);
  const auto json = parse_json(text, what_);
  if (!json) return tl::unexpected(json.error());
  const auto header = header_of(*json);
  if (!header) return fail(Errc::format, "{}: its header lacks something, or has what can't be", what_);
  if (header->numbers.length < 1 || header->numbers.length > left_ / std::int64_t{sizeof(TokenId)}) {
    return fail(Errc::format, "{}: {} tokens, of which {} bytes can't hold the ids", what_, header->numbers.length,
                left_);
  }
  header_ = *header;
  return {};
}

Expected<std::uint64_t> SnapshotReader::size_of_section() {
  std::uint64_t size = 0;
  if (Status good = read(std::as_writable_bytes(std::span(&size, 1))); !good) return tl::unexpected(good.error());
  return size;
}

Status SnapshotReader::end_of_section(std::uint64_t size, std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  if (Status good = read(std::as_writable_bytes(std::span(&sum, 1))); !good) return good;
  if (checksums_ == Checksums::compared && sum != checksum(bytes, checksum(bytes_of(size)))) {
    return fail(Errc::format, "{} is damaged: {} bytes have another checksum", what_, size);
  }
  return {};
}

Status SnapshotReader::section(std::span<std::byte> to) {
  const auto size = size_of_section();
  if (!size) return tl::unexpected(size.error());
  if (*size != to.size()) return fail(Errc::format, "{}: a section has {} bytes, expected {}", what_, *size, to.size());
  if (Status good = read(to); !good) return good;
  return end_of_section(*size, to);
}

Expected<std::vector<TokenId>> SnapshotReader::ids() {
  std::vector<TokenId> ids(static_cast<std::size_t>(header_.numbers.length));  // the file has as many, said its header
  if (Status good = section(std::as_writable_bytes(std::span(ids))); !good) return tl::unexpected(good.error());
  return ids;
}

Expected<Sequence> SnapshotReader::state(const StatePools& pools) {
  if (const std::int64_t want = state_bytes(pools.shape(), header_.numbers.length).all(); want > left_) {
    return fail(Errc::format, "{} is cut short, or of a model of another shape: {} bytes are left of a state of {}",
                what_, left_, want);
  }
  try {
    auto sequence = Sequence::restore(pools, header_.numbers, [&](std::span<std::byte> part) { return section(part); });
    if (!sequence && sequence.error().message.starts_with(what_)) return tl::unexpected(sequence.error());
    if (!sequence) return fail(sequence.error().code, "{}: {}", what_, sequence.error().message);
    if (left_ > 0) return fail(Errc::format, "{}: {} bytes more than its state has", what_, left_);
    if (!holds_numbers(*sequence))  // under good checksums: made so, by damaged weights or by somebody
      return fail(Errc::format, "{}: its state has values that are no numbers", what_);
    return sequence;
  } catch (const std::bad_alloc&) {
    return fail(Errc::memory, "{}: not enough memory for a state of {} tokens", what_, header_.numbers.length);
  }
}

Status SnapshotReader::verify() {
  std::vector<std::byte> bytes;
  while (left_ > 0) {
    const auto size = size_of_section();
    if (!size) return tl::unexpected(size.error());
    if (*size > static_cast<std::uint64_t>(left_)) {
      return fail(Errc::format, "{} is cut short: {} bytes are left of a section of {}", what_, left_, *size);
    }
    bytes.resize(*size);
    if (Status good = read(bytes); !good) return good;
    if (Status good = end_of_section(*size, bytes); !good) return good;
  }
  return {};
}

}  // namespace cachalot
