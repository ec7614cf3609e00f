// SPDX-License-Identifier: Apache-2.0
#include "verify/slot_numbers.h"

#include <gtest/gtest.h>

#include "model/observer.h"

namespace cachalot::slot_numbers_test {
namespace {

TEST(SlotNumbers, PrefillSlotsArePositionsThenGroups) {
  const ReferenceCall call{.start = 0, .rows = 9, .window = 4};
  EXPECT_EQ(call.first_group_slot(), 9);
  EXPECT_EQ(call.entry_of(-1, 8, 2), -1);
  EXPECT_EQ(call.entry_of(8, 8, 2), 8);
  EXPECT_EQ(call.entry_of(5, 8, 2), 5);
  EXPECT_EQ(call.entry_of(9, 8, 2), listed_group(0));
  EXPECT_EQ(call.entry_of(12, 8, 2), listed_group(3));
}

TEST(SlotNumbers, StepSlotsAreARingThenGroups) {
  const ReferenceCall call{.start = 9, .rows = 1, .window = 4};  // the ring holds 8 9 6 7
  EXPECT_EQ(call.first_group_slot(), 4);
  EXPECT_EQ(call.entry_of(0, 0, 3), 8);
  EXPECT_EQ(call.entry_of(1, 0, 3), 9);
  EXPECT_EQ(call.entry_of(2, 0, 3), 6);
  EXPECT_EQ(call.entry_of(3, 0, 3), 7);
  EXPECT_EQ(call.entry_of(4, 0, 3), listed_group(0));
  EXPECT_EQ(call.entry_of(6, 0, 3), listed_group(2));
}

TEST(SlotNumbers, WhatARowHasNotSeenIsRefused) {
  const ReferenceCall prompt{.start = 0, .rows = 9, .window = 4};
  EXPECT_EQ(prompt.entry_of(4, 3, 2), std::nullopt) << "a later position";
  EXPECT_EQ(prompt.entry_of(4, 8, 2), std::nullopt) << "out of the window";
  EXPECT_EQ(prompt.entry_of(13, 8, 2), std::nullopt) << "a group that is not complete";
  EXPECT_EQ(prompt.entry_of(9, 8, 0), std::nullopt) << "a group in a layer without groups";
  EXPECT_EQ(prompt.entry_of(-2, 8, 2), std::nullopt);
  EXPECT_EQ(prompt.group_of_slot(3, 8, 2), std::nullopt) << "a window slot among groups";
  const ReferenceCall early{.start = 1, .rows = 1, .window = 4};
  EXPECT_EQ(early.entry_of(2, 0, 1), std::nullopt) << "a slot of the ring that nobody wrote";
}

TEST(SlotNumbers, RowsOfASecondSequenceStartAgain) {
  const ReferenceCall call{.start = 0, .rows = 3, .window = 8};
  EXPECT_EQ(call.position(4), 1);
  EXPECT_EQ(call.entry_of(2, 4, 1), std::nullopt);
  EXPECT_EQ(call.entry_of(4, 4, 1), listed_group(1));
}

TEST(SlotNumbers, EveryEntryComesBackToItsSlot) {
  for (const std::int64_t window : {1, 4, 56}) {
    for (const std::int64_t ratio : {1, 2, 3}) {
      for (std::int64_t start : {0, 1, 3, 4, 57, 200}) {
        const ReferenceCall call{.start = start, .rows = start == 0 ? 70 : 1, .window = window};
        for (std::int64_t row = 0; row < call.rows; ++row) {
          std::int64_t legal = 0;
          for (std::int64_t slot = 0; slot < call.first_group_slot() + 300; ++slot) {
            const auto entry = call.entry_of(slot, row, ratio);
            if (!entry) continue;
            ++legal;
            EXPECT_EQ(call.slot_of(*entry), slot);
          }
          const std::int64_t seen = call.position(row) + 1;
          EXPECT_EQ(legal, std::min(seen, window) + seen / ratio);
        }
      }
    }
  }
}

TEST(BlocksOfMask, LastBlockMayBeShort) {
  EXPECT_EQ(*blocks_of_mask(std::vector<std::int64_t>{1, 1, 0, 0, 1}, 2), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(*blocks_of_mask({}, 2), std::vector<std::int64_t>{});
}

TEST(BlocksOfMask, BlockKeptInPartIsRefused) {
  EXPECT_EQ(blocks_of_mask(std::vector<std::int64_t>{1, 0}, 2), std::nullopt);
}

TEST(AsSet, OrderAndFillingDoNotCount) {
  EXPECT_EQ(as_set(std::vector<std::int64_t>{-1, 5, listed_group(0), 2}), (std::vector<std::int64_t>{-2, 2, 5}));
}

}  // namespace
}  // namespace cachalot::slot_numbers_test
