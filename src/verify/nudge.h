// SPDX-License-Identifier: Apache-2.0
// Observers that move what a forward computes by about a unit in the last place: what changes by more than that hangs
// on a rounding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/observer.h"

namespace cachalot {

// Moves every mix of the hyper-connections, which are f32 in both numerics, by one unit in its last place, up or down.
// That is what another order of summation may do.
class Nudge : public Observer {
 public:
  explicit Nudge(std::uint32_t seed) : state_(seed) {}
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

 private:
  std::uint32_t state_;
};

// Moves one index query that lies on a tie between two fp4 codes, or as near to it as another order of summation may
// bring it, to the other side. There are some tens in a million.
class AcrossTies : public Observer {
 public:
  explicit AcrossTies(std::string place) : moved_(std::move(place)) {}  // one of places(); empty: only look
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

  // The values on a tie, the nearest first: "layers.4.attn.indexer.q position 482 value 17".
  std::vector<std::string> places() const;

 private:
  void look(std::string_view name, std::int64_t row, Values<1> x, std::int64_t first);

  std::string moved_;
  std::vector<std::pair<float, std::string>> places_;  // distance over the tie's own size
};

}  // namespace cachalot
