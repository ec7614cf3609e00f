// SPDX-License-Identifier: Apache-2.0
// A sequence as numbers and bytes: what is counted, kept on disk, and restored from there.
#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "kv/sequence.h"

namespace cachalot {
namespace {

// Pages that `length` positions fill; a truncation may have left more.
std::int64_t pages_of(const PagedStore& store, std::int64_t length, std::int64_t ratio) {
  return ceil_div(length / ratio, store.page_rows());
}

}  // namespace

void Sequence::each_page(const std::function<void(const void* page, std::int64_t bytes)>& see) const {
  for (const Source& s : sources_) {
    for (const PagedStore* store : {&s.compressed, &s.index_keys}) {
      for (std::int64_t p = 0; p < store->pages(); ++p) see(store->page(p).data(), store->page_bytes());
    }
  }
}

void Sequence::each_part(const std::function<void(std::span<const std::byte>)>& see) const {
  check(text_only_, "a state with images is not kept by its token ids");
  check(!replayed(), "a replayed state is not kept: it would pass for exact");
  for (const WindowRing& r : rings_) see(std::as_bytes(r.packed()));
  see(std::as_bytes(std::span(class_)));
  see(std::as_bytes(std::span(dead_)));
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    see(std::as_bytes(std::span(sources_[s].inputs)));
    for (const PagedStore* store : {&sources_[s].compressed, &sources_[s].index_keys}) {
      const std::int64_t pages = pages_of(*store, length_, shape_.sources[s].ratio);
      check(pages <= store->pages(), "every committed group was written");
      for (std::int64_t p = 0; p < pages; ++p) see(std::as_bytes(store->page(p)));
    }
  }
}

Expected<Sequence> Sequence::restore(const StateShape& shape, const StateNumbers& numbers,
                                     const std::function<Status(std::span<std::byte>)>& fill) {
  const auto [length, reachable, published] = numbers;
  const auto sources = static_cast<std::int64_t>(shape.sources.size());
  if (length < 0 || reachable < std::max<std::int64_t>(0, length - shape.slack) || reachable > length ||
      published < -1 || published >= sources) {
    return fail(Errc::format,
                "{} positions that go back to {}, keys published by source {}: no sequence with a slack of {} and {} "
                "sources has these",
                length, reachable, published, shape.slack, sources);
  }
  Sequence sequence(shape);
  sequence.length_ = length;
  sequence.reachable_ = reachable;
  sequence.published_ = published;
  Status filled;
  const auto take = [&](auto part) {
    if (filled) filled = fill(std::as_writable_bytes(part));
  };
  for (WindowRing& r : sequence.rings_) take(r.packed());
  take(std::span(sequence.class_));
  take(std::span(sequence.dead_));
  for (std::size_t s = 0; s < sequence.sources_.size(); ++s) {
    Source& source = sequence.sources_[s];
    take(std::span(source.inputs));
    for (PagedStore* store : {&source.compressed, &source.index_keys}) {
      const std::int64_t pages = pages_of(*store, length, shape.sources[s].ratio);
      for (std::int64_t p = 0; p < pages && filled; ++p) take(store->add_page());
    }
  }
  if (!filled) return tl::unexpected(filled.error());
  const auto text = [](std::uint8_t dead) { return dead == 0; };
  if (!std::ranges::all_of(sequence.dead_, text) ||
      std::ranges::any_of(sequence.class_, [](std::int32_t c) { return c < 0; })) {
    return fail(Errc::format, "a history of tokens that has images or negative classes in it");
  }
  return sequence;
}

}  // namespace cachalot
