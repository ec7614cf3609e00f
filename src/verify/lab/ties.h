// SPDX-License-Identifier: Apache-2.0
// Values that lie next to the border between two fp4 codes. Sums in another order bring such a value to the other side,
// and a code is a coarse thing: a whole step of it shows in every row that reads it. Source: spec 3.3, 3.4, 7.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/config.h"
#include "numerics/row_format.h"
#include "verify/run_observer.h"

namespace cachalot {

// What a tensor that the engine is about to round to fp4 becomes: index queries, index keys, compressed KV.
struct RoundedTo {
  RowFormat format = RowFormat::e2m1_e8m0_32;
  std::int64_t ratio = 0;  // a row is a group of so many positions; 0: a row is a position
};
std::optional<RoundedTo> rounded_to(std::string_view tensor, const Config& config);

// How near to a tie counts as next to it, as a share of the largest value under the same scale: what sums in f32 may be
// off by, a few layers down.
constexpr double next_to = 2e-6;

// The values under one scale, and their codes as the engine rounds them.
struct CodeGroup {
  CodeGroup(RowFormat format, std::span<const float> values);

  // Where the border lies between the code of value i and the one a step up (or down) in magnitude; none at the ends.
  std::optional<double> tie(std::size_t i, bool up) const;
  double distance(std::size_t i, double tie) const;  // of the value's magnitude, as a share of the largest
  // Whether the value's code and `golden` are one step apart, up or down; nothing where they are not.
  std::optional<bool> one_step_up(std::size_t i, float golden) const;
  unsigned magnitude(std::size_t i) const;  // of the code: 0 … 7

  std::span<const float> values;
  std::vector<std::uint8_t> packed;
  double scale = 1;
  double largest = 0;
};

struct NearTie {
  std::string tensor;  // under the observer's name
  RowPlace place;
  std::int64_t value = 0;
  double distance = 0;

  bool same_place(const NearTie& other) const {
    return tensor == other.tensor && place == other.place && value == other.value;
  }
  std::string words() const;  // "layers.4.attn.indexer.q sequence 0 position 482 value 17"
};

// Rows of one sequence by tensor and group.
using CodeRows = std::map<std::pair<std::string, std::int64_t>, std::vector<float>>;

// Watches a run for values next to a tie, and keeps what compressed KV and index keys are before they are rounded.
class TieFinder : public RunObserver {
 public:
  explicit TieFinder(const Config& config) : config_(config) {}
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

  std::vector<NearTie> ties() const;  // the nearest first
  const CodeRows& stored(std::int64_t sequence) const;

 private:
  const Config& config_;
  std::vector<NearTie> ties_;
  std::map<std::int64_t, CodeRows> stored_;  // by sequence
};

// Moves values across the tie they lie next to, and nothing else.
class MoveAcross : public RunObserver {
 public:
  MoveAcross(const Config& config, std::vector<NearTie> ties) : config_(config), ties_(std::move(ties)) {}
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

 private:
  const Config& config_;
  std::vector<NearTie> ties_;
};

}  // namespace cachalot
