// SPDX-License-Identifier: Apache-2.0
// What the tests of sparse attention attend to: the window and the groups of some sequences, in the released formats or
// any other. Included by *_test.cpp only.
#pragma once

#include <vector>

#include "ops/attention/sparse_attention/sparse_attention.h"
#include "ops/test_arguments.h"

namespace cachalot {

struct SourceRows {
  std::int64_t ring, own, groups;

  std::int64_t all() const { return ring + own + groups; }
};

// Rings as a pool keeps them: a page for each sequence, records, something else in between.
struct AttentionSources {
  std::vector<SourceRows> rows;  // of each sequence
  StoredRows own, ring_rows;     // of all sequences, one behind the other
  std::vector<std::uint8_t> ring_memory;
  PackedRowsOut ring;
  std::vector<StoredRows> group_rows;
  StoredPages groups;

  AttentionSources(std::int64_t dim, std::vector<SourceRows> of, Random& random, bool plain = false, float size = 1)
      : rows(std::move(of)),
        own(window_format(plain), dim, some(&SourceRows::own, dim, random, size)),
        ring_rows(window_format(plain), dim, some(&SourceRows::ring, dim, random, size)),
        groups(pointers(dim, plain, random, size), 5, RowLayout::records) {
    const std::int64_t longest = std::ranges::max(rows, {}, &SourceRows::ring).ring;
    const std::int64_t step = longest * row_bytes(own.rows.format, dim) + 16;
    ring_memory.assign(static_cast<std::size_t>(step * std::ssize(rows)), 0xEE);
    ring = packed_rows(own.rows.format, dim, longest, ring_memory.data(), RowLayout::records);
    ring.rows = longest * std::ssize(rows);
    ring.page_rows = longest;
    ring.page_step = step;
    for (std::int64_t s = 0, at = 0; s < std::ssize(rows); ++s) {
      for (std::int64_t i = 0; i < rows[static_cast<std::size_t>(s)].ring; ++i, ++at)
        set_ring(s * longest + i, ring_rows.rows[at]);
    }
  }
  AttentionSources(const AttentionSources&) = delete;
  AttentionSources& operator=(const AttentionSources&) = delete;

  // A slot of a sequence: ring, then own, then groups. Its vector; and where it stands in the operator's lists.
  std::vector<float> slot(std::int64_t sequence, std::int64_t s) const {
    const SourceRows& n = rows[static_cast<std::size_t>(sequence)];
    if (s >= n.ring + n.own) return group_rows[static_cast<std::size_t>(sequence)].row(s - n.ring - n.own);
    std::vector<float> v(static_cast<std::size_t>(own.rows.width));
    const std::int64_t entry = window_entry(sequence, s);
    entry < own.rows.rows ? own.rows.decode(entry, v) : ring.decode(entry - own.rows.rows, v);
    return v;
  }
  // A list of slots as the operator's two. Each is as long as the list; what is in the other one is -1 in the window's.
  void split(std::int64_t sequence, const std::vector<std::int32_t>& list, View<std::int32_t, 1> window,
             View<std::int32_t, 1> group) const {
    const SourceRows& n = rows[static_cast<std::size_t>(sequence)];
    std::int64_t g = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool is_group = list[i] >= n.ring + n.own;
      const auto at = static_cast<std::int64_t>(i);
      window[at] = list[i] < 0 || is_group ? -1 : static_cast<std::int32_t>(window_entry(sequence, list[i]));
      if (is_group) group[g++] = static_cast<std::int32_t>(list[i] - n.ring - n.own);
    }
    for (; g < group.extent(0); ++g) group[g] = -1;
  }

 private:
  static RowFormat window_format(bool plain) { return plain ? RowFormat::f32 : RowFormat::e4m3_e8m0_32; }
  std::vector<float> some(std::int64_t SourceRows::*count, std::int64_t dim, Random& random, float size) const {
    std::int64_t n = 0;
    for (const SourceRows& r : rows) n += r.*count;
    return random_floats(n * dim, random, size);
  }
  std::vector<const StoredRows*> pointers(std::int64_t dim, bool plain, Random& random, float size) {
    group_rows.reserve(rows.size());
    std::vector<const StoredRows*> all;
    for (const SourceRows& r : rows) {
      all.push_back(&group_rows.emplace_back(plain ? RowFormat::f32 : RowFormat::e2m1_e4m3_16, dim,
                                             random_floats(r.groups * dim, random, size)));
    }
    return all;
  }
  void set_ring(std::int64_t row, PackedRows::Place from) {
    std::copy_n(from.codes, code_bytes(ring.format, ring.width), ring[row].codes);
    std::copy_n(from.scales, scale_bytes(ring.format, ring.width), ring[row].scales);
  }
  std::int64_t window_entry(std::int64_t sequence, std::int64_t s) const {
    const SourceRows& n = rows[static_cast<std::size_t>(sequence)];
    if (s < n.ring) return own.rows.rows + sequence * ring.page_rows + s;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < sequence; ++i) first += rows[static_cast<std::size_t>(i)].own;
    return first + s - n.ring;
  }
};

}  // namespace cachalot
