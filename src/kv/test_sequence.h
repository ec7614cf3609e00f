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

// What a step over `rows` positions leaves: every number says which position it is of.
struct Leftovers {
  Leftovers(std::int64_t first, std::int64_t rows)
      : records(static_cast<std::size_t>(rows * 33)), kv(static_cast<std::size_t>(rows * 32)), score(kv.size()) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto p = static_cast<std::uint8_t>((first + r) % 120);  // a number also as a code and as a scale
      for (std::int64_t i = 0; i < 32; ++i) {
        kv[static_cast<std::size_t>(32 * r + i)] = static_cast<float>(p);
        score[static_cast<std::size_t>(32 * r + i)] = -static_cast<float>(p);
      }
      std::fill_n(records.begin() + 33 * r, 33, p);
      token_class.push_back(p);
      dead.push_back(p % 2);
    }
    window = {packed_rows(WindowRing::format, 32, rows, records.data(), WindowRing::layout)};
    group_kv = {kv.data(), nullptr};
    group_score = {score.data(), nullptr};
  }
  StepState state() const {
    return {static_cast<std::int64_t>(token_class.size()), window, group_kv, group_score, token_class, dead, -1};
  }

  std::vector<std::uint8_t> records, dead;
  std::vector<float> kv, score;
  std::vector<std::int32_t> token_class;
  std::vector<PackedRows> window;
  std::vector<const float*> group_kv, group_score;
};

inline void advance(Sequence& s, std::int64_t rows) { s.commit(Leftovers(s.length(), rows).state()); }

// The same for text, and with the groups that these rows complete. `seed` makes the content another.
inline void run(Sequence& s, std::int64_t rows, std::uint8_t seed = 0) {
  for (std::int64_t source = 0; source < std::ssize(s.shape().sources); ++source) {
    const std::int64_t ratio = s.shape().sources[static_cast<std::size_t>(source)].ratio;
    for (std::int64_t g = s.length() / ratio; g < (s.length() + rows) / ratio; ++g) {
      const auto value = static_cast<std::uint8_t>((7 * g + source + seed) % 120);  // a number also as a scale
      std::fill_n(s.compressed_slot(source, g).codes, 16, value);
      std::fill_n(s.compressed_slot(source, g).scales, 2, value);
      std::fill_n(s.index_key_slot(source, g).codes, 16, static_cast<std::uint8_t>(value + 1));
      *s.index_key_slot(source, g).scales = static_cast<std::uint8_t>(value + 2);
    }
  }
  Leftovers step(s.length(), rows);
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

inline Expected<Sequence> restored(const StateShape& shape, const StateNumbers& numbers,
                                   std::span<const std::byte> bytes) {
  return Sequence::restore(shape, numbers, [&](std::span<std::byte> part) -> Status {
    if (part.size() > bytes.size()) return fail(Errc::format, "cut");
    std::ranges::copy(bytes.first(part.size()), part.begin());
    bytes = bytes.subspan(part.size());
    return {};
  });
}

}  // namespace cachalot
