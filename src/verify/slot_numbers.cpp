// SPDX-License-Identifier: Apache-2.0
#include "verify/slot_numbers.h"

#include <algorithm>

#include "model/observer.h"
#include "ops/attention/indexer/indexer.h"

namespace cachalot {

std::optional<std::int64_t> ReferenceCall::group_of_slot(std::int64_t slot, std::int64_t row,
                                                         std::int64_t ratio) const {
  if (slot == -1) return -1;
  const std::int64_t group = slot - first_group_slot();
  if (ratio < 1 || group < 0 || group >= visible_groups(position(row), ratio)) return std::nullopt;
  return group;
}

std::optional<std::int64_t> ReferenceCall::entry_of(std::int64_t slot, std::int64_t row, std::int64_t ratio) const {
  if (slot == -1) return -1;
  if (slot >= first_group_slot()) {
    const auto group = group_of_slot(slot, row, ratio);
    if (!group) return std::nullopt;
    return listed_group(*group);
  }
  const std::int64_t p = position(row);
  if (slot < 0) return std::nullopt;
  // In a ring of W slots the newest position at or before p that lies there.
  const std::int64_t at = start == 0 ? slot : p - ((p - slot) % window + window) % window;
  if (at < 0 || at > p || at <= p - window) return std::nullopt;
  return at;
}

std::int64_t ReferenceCall::slot_of(std::int64_t entry) const {
  if (entry == -1) return -1;
  if (is_listed_group(entry)) return first_group_slot() + group_of(entry);
  return start == 0 ? entry : entry % window;
}

std::optional<std::vector<std::int64_t>> blocks_of_mask(std::span<const std::int64_t> keep, std::int64_t block_size) {
  std::vector<std::int64_t> blocks;
  const auto groups = static_cast<std::int64_t>(keep.size());
  for (std::int64_t first = 0; first < groups; first += block_size) {
    const auto block =
        keep.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(block_size, groups - first)));
    const auto kept = std::ranges::count_if(block, [](std::int64_t k) { return k != 0; });
    if (kept != 0 && kept != static_cast<std::ptrdiff_t>(block.size())) return std::nullopt;
    if (kept != 0) blocks.push_back(first / block_size);
  }
  return blocks;
}

std::vector<std::int64_t> as_set(std::span<const std::int64_t> list) {
  std::vector<std::int64_t> set;
  std::ranges::copy_if(list, std::back_inserter(set), [](std::int64_t entry) { return entry != -1; });
  std::ranges::sort(set);
  return set;
}

}  // namespace cachalot
