// SPDX-License-Identifier: Apache-2.0
// The reference numbers what a row reads by slots; the engine speaks of positions and groups (model/observer.h). One
// reference call is a prefill (start 0), whose window slots are its own rows, or one step, whose window slots are a
// ring. Compressed slots count on behind the window slots. Source: spec 3.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"

namespace cachalot {

struct ReferenceCall {
  std::int64_t start = 0;   // position of the first row
  std::int64_t rows = 1;    // of each sequence; 1 where start > 0
  std::int64_t window = 1;  // W

  std::int64_t position(std::int64_t row) const { return start + row % rows; }  // rows of all sequences, in order
  // Window slots given to the call, which is also the number of the first compressed slot.
  std::int64_t first_group_slot() const { return start == 0 ? rows : window; }

  // -1, a position, or listed_group(group); empty where the slot can't be: the row has not seen it.
  std::optional<std::int64_t> entry_of(std::int64_t slot, std::int64_t row, std::int64_t ratio) const;
  // The group of a slot of an index source's list, -1 for -1; empty where the row does not see it.
  std::optional<std::int64_t> group_of_slot(std::int64_t slot, std::int64_t row, std::int64_t ratio) const;
  // Back again.
  std::int64_t slot_of(std::int64_t entry) const;
};

// Which blocks a mask over groups keeps, ascending; empty where a block is kept in part.
std::optional<std::vector<std::int64_t>> blocks_of_mask(std::span<const std::int64_t> keep, std::int64_t block_size);

// What a list holds, whatever its order: sorted, without the -1.
std::vector<std::int64_t> as_set(std::span<const std::int64_t> list);

}  // namespace cachalot
