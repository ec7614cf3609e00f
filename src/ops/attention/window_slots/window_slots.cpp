// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/window_slots/window_slots.h"

#include "base/check.h"

namespace cachalot {

void window_positions(std::int64_t position, std::int64_t window, std::int64_t first, std::span<std::int64_t> out) {
  check(static_cast<std::int64_t>(out.size()) == window, "window_positions fills one entry per window slot");
  for (std::int64_t i = 0; i < window; ++i) {
    const std::int64_t p = position - window + 1 + i;
    out[static_cast<std::size_t>(i)] = p < first ? -1 : p;
  }
}

std::int64_t WindowPlace::position_of(std::int64_t slot) const {
  if (slot >= ring_slots) return committed + (slot - ring_slots);
  const std::int64_t newest = committed - 1;
  const std::int64_t back = ((newest - slot) % ring_slots + ring_slots) % ring_slots;
  return newest >= back ? newest - back : -1;
}

}  // namespace cachalot
