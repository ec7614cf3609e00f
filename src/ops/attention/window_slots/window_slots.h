// SPDX-License-Identifier: Apache-2.0
// Which window positions a query reads, and where they lie. Causality is in this list: there is no mask. Source:
// spec 3.2.
#pragma once

#include <cstdint>
#include <span>

namespace cachalot {

// The positions p - window + 1 .. p, oldest first; -1 stands for each one before `first`: the sequence's start, or
// where a replay's tail begins (spec 11). out: [window].
void window_positions(std::int64_t position, std::int64_t window, std::int64_t first, std::span<std::int64_t> out);

// Where a sequence keeps its window KV during a step: committed positions in a ring (position p in slot p mod
// ring_slots), the step's own rows behind the ring, in order of position.
struct WindowPlace {
  std::int64_t ring_slots;  // at least the window plus what a truncation may take back
  std::int64_t committed;   // positions below it are in the ring, the others are this step's

  std::int64_t slot_of(std::int64_t position) const {
    return position < committed ? position % ring_slots : ring_slots + (position - committed);
  }
  // The newest position a slot holds; -1 when the ring has not been filled so far.
  std::int64_t position_of(std::int64_t slot) const;
};

}  // namespace cachalot
