// SPDX-License-Identifier: Apache-2.0
// A sequence as numbers and bytes: what is counted, kept on disk, and restored from there.
#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "kv/sequence.h"

namespace cachalot {

std::vector<Sequence::Part> Sequence::ring_parts() const {
  std::vector<Part> parts;
  for (std::int64_t l = 0; l < shape().rings; ++l)
    parts.push_back({ring_.at() + pools_.ring_at(l), shape().ring_bytes()});
  return parts;
}

// Pages are those that the length fills; a truncation may have left more.
std::vector<Sequence::Part> Sequence::source_parts(std::int64_t source) const {
  const auto& pages = pages_[static_cast<std::size_t>(source)];
  const std::int64_t groups = length_ / shape().sources[static_cast<std::size_t>(source)].ratio;
  const std::int64_t filled = ceil_div(groups, shape().page_groups(source));
  check(filled <= std::ssize(pages), "every committed group was written");
  const std::int64_t compressed = shape().compressed_page_bytes(source), keys = shape().key_page_bytes(source);
  std::vector<Part> parts = {{ring_.at() + pools_.inputs_at(source), shape().input_bytes(source)}};
  const std::span used(pages.data(), static_cast<std::size_t>(filled));
  for (const HeldBlock& page : used) parts.push_back({page.at(), compressed});
  for (const HeldBlock& page : used) parts.push_back({page.at() + compressed, keys});
  return parts;
}

void Sequence::each_page(const std::function<void(std::uint64_t page, std::int64_t bytes)>& see) const {
  for (std::size_t s = 0; s < pages_.size(); ++s) {
    const auto source = static_cast<std::int64_t>(s);
    for (const HeldBlock& page : pages_[s])
      see(page.id(), shape().compressed_page_bytes(source) + shape().key_page_bytes(source));
  }
}

void Sequence::each_part(const std::function<void(std::span<const std::byte>)>& see) const {
  check(text_only_, "a state with images is not kept by its token ids");
  check(!replayed(), "a replayed state is not kept: it would pass for exact");
  std::vector<std::byte> bytes;
  const auto see_all = [&](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      bytes.resize(static_cast<std::size_t>(part.bytes));
      pools_.memory().download(bytes, part.at);
      see(bytes);
    }
  };
  see_all(ring_parts());
  see(std::as_bytes(std::span(class_)));
  see(std::as_bytes(std::span(dead_)));
  for (std::int64_t s = 0; s < std::ssize(pages_); ++s) see_all(source_parts(s));
}

Expected<Sequence> Sequence::restore(const StatePools& pools, const StateNumbers& numbers,
                                     const std::function<Status(std::span<std::byte>)>& fill) {
  const StateShape& shape = pools.shape();
  const auto [length, reachable, published] = numbers;
  const auto sources = static_cast<std::int64_t>(shape.sources.size());
  if (length < 0 || reachable < std::max<std::int64_t>(0, length - shape.slack) || reachable > length ||
      published < -1 || published >= sources) {
    return fail(Errc::format,
                "{} positions that go back to {}, keys published by source {}: no sequence with a slack of {} and {} "
                "sources has these",
                length, reachable, published, shape.slack, sources);
  }
  Sequence sequence(pools);
  sequence.length_ = length;
  sequence.reachable_ = reachable;
  sequence.published_ = published;
  Status filled;
  std::vector<std::byte> bytes;
  const auto fill_all = [&](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      bytes.assign(static_cast<std::size_t>(part.bytes), std::byte{0});
      if (filled) filled = fill(bytes);
      if (filled) pools.memory().upload(part.at, bytes);
    }
  };
  fill_all(sequence.ring_parts());
  if (filled) filled = fill(std::as_writable_bytes(std::span(sequence.class_)));
  if (filled) filled = fill(std::as_writable_bytes(std::span(sequence.dead_)));
  for (std::int64_t s = 0; s < sources && filled; ++s) {
    sequence.make_groups(s, 0, length / shape.sources[static_cast<std::size_t>(s)].ratio);
    fill_all(sequence.source_parts(s));
  }
  if (!filled) return tl::unexpected(filled.error());
  const auto text = [](std::uint8_t dead) { return dead == 0; };
  if (!std::ranges::all_of(sequence.dead_, text) ||
      std::ranges::any_of(sequence.class_, [](std::int32_t c) { return c < 0; })) {
    return fail(Errc::format, "a history of tokens that has images or negative classes in it");
  }
  return sequence;
}

HostRows Sequence::ring(std::int64_t layer) const {
  const Part part = ring_parts()[static_cast<std::size_t>(layer)];
  HostRows to{std::vector<std::uint8_t>(static_cast<std::size_t>(part.bytes)), {}};
  pools_.memory().download(std::as_writable_bytes(std::span(to.bytes)), part.at);
  to.rows = packed_rows(window_format, shape().head_dim, shape().ring_slots(),
                        static_cast<const std::uint8_t*>(to.bytes.data()), window_layout);
  return to;
}

HostRows Sequence::group_rows(const PackedRows& pool, std::int64_t source, std::int64_t groups) const {
  const std::int64_t in_page = shape().page_groups(source), pages = ceil_div(groups, in_page);
  const std::int64_t bytes = in_page * row_bytes(pool.format, pool.width);
  HostRows to{std::vector<std::uint8_t>(static_cast<std::size_t>(pages * bytes)), pool};
  for (std::int64_t p = 0; p < pages; ++p) {
    const auto* from = reinterpret_cast<const std::byte*>(pool[page(source, p) * in_page].codes);
    pools_.memory().download(std::as_writable_bytes(std::span(to.bytes))
                                 .subspan(static_cast<std::size_t>(p * bytes), static_cast<std::size_t>(bytes)),
                             from);
  }
  to.rows =
      packed_rows(pool.format, pool.width, in_page, static_cast<const std::uint8_t*>(to.bytes.data()), pool.layout);
  to.rows.rows = groups;
  to.rows.page_rows = in_page;
  to.rows.page_step = bytes;
  return to;
}
HostRows Sequence::compressed(std::int64_t source, std::int64_t groups) const {
  return group_rows(pools_.compressed(source), source, groups);
}
HostRows Sequence::index_keys(std::int64_t source, std::int64_t groups) const {
  return group_rows(pools_.index_keys(source), source, groups);
}

std::vector<float> Sequence::inputs(std::int64_t source, std::int64_t position) const {
  std::vector<float> to(static_cast<std::size_t>(2 * shape().head_dim));
  pools_.memory().download(
      std::as_writable_bytes(std::span(to)),
      reinterpret_cast<const std::byte*>(pools_.inputs(source)[input_row(source, position)].codes));
  return to;
}

}  // namespace cachalot
