// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "verify/run_observer.h"

namespace cachalot {

// Moves every mix of the hyper-connections, which are f32 in both numerics, by one unit in its last place, up or down.
// That is what another order of summation may do; what changes by more hangs on a rounding.
class Nudge : public RunObserver {
 public:
  explicit Nudge(std::uint32_t seed) : state_(seed) {}
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

 private:
  std::uint32_t state_;
};

// The same few for everybody. A fault that is no rounding is there in every one of them.
constexpr std::uint32_t nudges = 8;

}  // namespace cachalot
