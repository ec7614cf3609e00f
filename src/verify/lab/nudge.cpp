// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/nudge.h"

#include <cmath>

namespace cachalot {

void Nudge::values(std::string_view name, std::int64_t, Values<2> rows) {
  if (name.find(".hc_") == std::string_view::npos) return;
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    for (std::int64_t i = 0; i < rows.extent(1); ++i) {
      state_ = state_ * 1664525u + 1013904223u;
      const float v = rows[r].load(i);
      rows[r].store(i, std::nextafter(v, state_ >> 31 != 0 ? 2 * v : 0.0f));
    }
  }
}

}  // namespace cachalot
