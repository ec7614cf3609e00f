// SPDX-License-Identifier: Apache-2.0
// For tests: sequences of a small shape, whose every number says which position it is of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kv/sequence.h"

namespace cachalot {

// One window layer of 4 positions + 16 of slack, a source of 3 tokens a group and one of 1.
inline StateShape small_shape() {
  StateShape s;
  s.rings = 1;
  s.window = 4;
  s.slack = 16;
  s.head_dim = 32;
  s.index_head_dim = 32;
  s.sources = {{0, 3}, {0, 1}};
  s.page_tokens = page_tokens_for(s.sources, 4);
  s.history = 3;
  return s;
}

// A row of a pool, its codes and its scales.
inline void fill_row(const PackedRowsOut& pool, std::int64_t row, std::uint8_t codes, std::uint8_t scales) {
  std::fill_n(pool[row].codes, code_bytes(pool.format, pool.width), codes);
  std::fill_n(pool[row].scales, scale_bytes(pool.format, pool.width), scales);
}

// What a step over `rows` positions behind a sequence's length leaves: every number says which position it is of.
struct Leftovers {
  Leftovers(const Sequence& s, std::int64_t rows) {
    for (std::int64_t p = s.length(); p < s.length() + rows; ++p) {
      token_class.push_back(number_of(p));
      dead.push_back(number_of(p) % 2);
    }
  }
  static std::uint8_t number_of(std::int64_t p) {
    return static_cast<std::uint8_t>(p % 120);  // a number also as a code and as a scale
  }
  StepState state() const { return {static_cast<std::int64_t>(token_class.size()), token_class, dead, -1, 0}; }

  std::vector<std::int32_t> token_class;
  std::vector<std::uint8_t> dead;
};

inline void write_window(Sequence& s, std::int64_t ring, std::int64_t first, std::int64_t rows) {
  for (std::int64_t p = first; p < first + rows; ++p) {
    fill_row(s.pools().rings(ring), s.ring_row(p), Leftovers::number_of(p), Leftovers::number_of(p));
  }
}
inline void write_inputs(Sequence& s, std::int64_t rows) {
  for (std::int64_t p = s.length(); p < s.length() + rows; ++p) {
    auto* to = reinterpret_cast<float*>(s.pools().inputs(0)[s.input_row(0, p)].codes);
    std::fill_n(to, 32, static_cast<float>(Leftovers::number_of(p)));
    std::fill_n(to + 32, 32, -static_cast<float>(Leftovers::number_of(p)));
  }
}

inline void advance(Sequence& s, std::int64_t rows) {
  write_window(s, 0, s.length(), rows);
  write_inputs(s, rows);
  s.commit(Leftovers(s, rows).state());
}

inline void write_group(Sequence& s, std::int64_t source, std::int64_t g, std::uint8_t value) {
  s.make_groups(source, g, g + 1);
  fill_row(s.pools().compressed(source), s.group_row(source, g), value, value);
  fill_row(s.pools().index_keys(source), s.group_row(source, g), static_cast<std::uint8_t>(value + 1),
           static_cast<std::uint8_t>(value + 2));
}

// The same for text, and with the groups that these rows complete. `seed` makes the content another.
inline void run(Sequence& s, std::int64_t rows, std::uint8_t seed = 0) {
  for (std::int64_t source = 0; source < std::ssize(s.shape().sources); ++source) {
    const std::int64_t ratio = s.shape().sources[static_cast<std::size_t>(source)].ratio;
    for (std::int64_t g = s.length() / ratio; g < (s.length() + rows) / ratio; ++g) {
      write_group(s, source, g, static_cast<std::uint8_t>((7 * g + source + seed) % 120));
    }
  }
  write_window(s, 0, s.length(), rows);
  write_inputs(s, rows);
  Leftovers step(s, rows);
  std::ranges::fill(step.dead, std::uint8_t{0});
  for (std::int32_t& c : step.token_class) c += seed;
  s.commit(step.state());
}

// Every byte that counts, one behind the other.
inline std::vector<std::byte> bytes_of(const Sequence& s) {
  std::vector<std::byte> all;
  s.each_part([&](std::span<const std::byte> part) { all.insert(all.end(), part.begin(), part.end()); });
  return all;
}

inline Expected<Sequence> restored(const StatePools& pools, const StateNumbers& numbers,
                                   std::span<const std::byte> bytes) {
  return Sequence::restore(pools, numbers, [&](std::span<std::byte> part) -> Status {
    if (part.size() > bytes.size()) return fail(Errc::format, "cut");
    std::ranges::copy(bytes.first(part.size()), part.begin());
    bytes = bytes.subspan(part.size());
    return {};
  });
}

}  // namespace cachalot
