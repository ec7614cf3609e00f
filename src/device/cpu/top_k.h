// SPDX-License-Identifier: Apache-2.0
// The k best of many numbers in one pass: larger first, the lower index on a tie, NaN as -inf. Most numbers are
// compared with the k-th best so far, a register at a time, and passed by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/thread_pool.h"
#include "tensor/arena.h"

namespace cachalot {

// The first i with x[i] > t, or n; a NaN never is. -0 and +0 are equal.
std::int64_t first_above(const float* x, std::int64_t n, float t);

class TopK {
 public:
  // A number and its index as one whole number: of two, the larger comes first in the order above.
  enum class Entry : std::uint64_t {};
  static std::int32_t index(Entry e) { return static_cast<std::int32_t>(~static_cast<std::uint32_t>(raw(e))); }

  static std::int64_t room_for(std::int64_t k) { return 2 * capacity(k); }
  // room: [room_for(k)]; k > 0.
  TopK(std::int64_t k, std::span<Entry> room) : k_(k), kept_(room.data()), sorted_(room.data() + capacity(k)) {}

  // Indices come ascending.
  void add(float value, std::int32_t index);
  void add(Entry e);
  void add_all(const float* x, std::int64_t n, std::int64_t first_index);

  // How many of x, from its first on, can be left out.
  std::int64_t skip(const float* x, std::int64_t n) const { return full_ ? first_above(x, n, threshold_) : 0; }

  // The best so far, at most k, index ascending.
  std::span<const Entry> best();

 private:
  static std::int64_t capacity(std::int64_t k) { return 2 * k + 64; }
  void cut();

  std::int64_t k_;
  Entry* kept_;
  Entry* sorted_;
  std::int64_t size_ = 0;
  bool full_ = false;  // threshold_ is the k-th best of what was added
  float threshold_ = 0;
};

// Into how many pieces a row is cut: few and long rows are, as every piece must find its own k best first.
inline std::int64_t top_k_pieces(std::int64_t rows, std::int64_t longest, std::int64_t threads) {
  constexpr std::int64_t worth_a_piece = 262144;
  return std::clamp<std::int64_t>(longest / worth_a_piece, 1, rows >= threads ? 1 : threads);
}

// Every row's k best: scan(row, first, last, top) adds the numbers first … last - 1 of a row that has length(row) of
// them, take(row, best) gets its result. The entries' order is total, so that pieces and threads change nothing.
template <class Length, class Scan, class Take>
void top_k_rows(ThreadPool& pool, Arena& scratch, std::int64_t rows, std::int64_t k, Length length, Scan scan,
                Take take) {
  using Entry = TopK::Entry;
  const Arena::Frame frame(scratch);
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows; ++row) longest = std::max(longest, length(row));
  const std::int64_t pieces = top_k_pieces(rows, longest, pool.threads());
  const std::int64_t piece = ceil_div(longest, pieces);
  const auto room = scratch.take<Entry, 2>({pool.threads(), TopK::room_for(k)});
  if (pieces == 1) {
    pool.parallel(rows, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t row = begin; row < end; ++row) {
        TopK top(k, room[thread].span());
        scan(row, std::int64_t{0}, length(row), top);
        take(row, top.best());
      }
    });
    return;
  }
  const auto found = scratch.take<Entry, 3>({rows, pieces, k});
  const auto count = scratch.take<std::int64_t, 2>({rows, pieces});
  pool.parallel(rows * pieces, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / pieces;
      const std::int64_t first = std::min(i % pieces * piece, length(row));
      TopK top(k, room[thread].span());
      scan(row, first, std::min(first + piece, length(row)), top);
      const auto best = top.best();
      std::ranges::copy(best, found[row][i % pieces].data());
      count[row][i % pieces] = static_cast<std::int64_t>(best.size());
    }
  });
  pool.parallel(rows, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t row = begin; row < end; ++row) {
      TopK top(k, room[thread].span());
      for (std::int64_t p = 0; p < pieces; ++p) {
        for (std::int64_t j = 0; j < count[row][p]; ++j) top.add(found[row][p][j]);
      }
      take(row, top.best());
    }
  });
}

}  // namespace cachalot
