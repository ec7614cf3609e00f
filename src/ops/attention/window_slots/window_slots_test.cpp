// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/window_slots/window_slots.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace cachalot::window_slots_test {
namespace {

std::vector<std::int64_t> window(std::int64_t position, std::int64_t size, std::int64_t first = 0) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size), -9);
  window_positions(position, size, first, out);
  return out;
}

TEST(WindowSlots, ListsTheLastPositionsOldestFirst) {
  EXPECT_EQ(window(0, 4), (std::vector<std::int64_t>{-1, -1, -1, 0}));
  EXPECT_EQ(window(2, 4), (std::vector<std::int64_t>{-1, 0, 1, 2}));
  EXPECT_EQ(window(3, 4), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(window(1'048'575, 4), (std::vector<std::int64_t>{1'048'572, 1'048'573, 1'048'574, 1'048'575}));
  EXPECT_EQ(window(7, 1), (std::vector<std::int64_t>{7}));
}

TEST(WindowSlots, NoPositionIsNewerThanTheQueryOrOutsideTheWindow) {
  for (std::int64_t p = 0; p < 300; ++p) {
    const auto w = window(p, 128);
    EXPECT_EQ(w.back(), p);
    EXPECT_EQ(w.front(), p < 127 ? -1 : p - 127);
  }
}

TEST(WindowSlots, NothingBeforeWhereItMayBeginIsListed) {
  EXPECT_EQ(window(5, 4, 4), (std::vector<std::int64_t>{-1, -1, 4, 5}));
  EXPECT_EQ(window(5, 4, 5), (std::vector<std::int64_t>{-1, -1, -1, 5}));
  EXPECT_EQ(window(5, 4, 2), (std::vector<std::int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(window(5, 4, 6), (std::vector<std::int64_t>{-1, -1, -1, -1}));  // what a draft reads of an empty tail
}

// Writes positions one by one into slots, as a sequence does, and asks the map what each slot holds.
TEST(WindowSlots, SlotOfAPositionHoldsThatPosition) {
  for (const std::int64_t ring : {1, 4, 7, 144}) {
    for (const std::int64_t committed : {0, 1, 3, 4, 5, 143, 144, 145, 1000}) {
      const WindowPlace place{ring, committed};
      std::map<std::int64_t, std::int64_t> held;
      for (std::int64_t p = 0; p < committed + 6; ++p) held[place.slot_of(p)] = p;
      for (std::int64_t slot = 0; slot < ring + 6; ++slot) {
        const auto at = held.find(slot);
        EXPECT_EQ(place.position_of(slot), at == held.end() ? -1 : at->second)
            << ring << " " << committed << " " << slot;
      }
    }
  }
}

TEST(WindowSlots, RowsOfTheStepStandBehindTheRing) {
  const WindowPlace place{8, 21};
  EXPECT_EQ(place.slot_of(20), 20 % 8);
  EXPECT_EQ(place.slot_of(21), 8);
  EXPECT_EQ(place.slot_of(25), 12);
}

TEST(WindowSlots, PositionsOfAWindowHaveSlotsOfTheirOwn) {
  constexpr std::int64_t size = 128;
  for (const std::int64_t committed : {0, 100, 128, 1000}) {
    const WindowPlace place{size + 16, committed};
    for (std::int64_t p = committed; p < committed + 5; ++p) {
      std::map<std::int64_t, std::int64_t> held;
      for (const std::int64_t w : window(p, size)) {
        if (w >= 0) {
          EXPECT_TRUE(held.emplace(place.slot_of(w), w).second) << w;
        }
      }
    }
  }
}

TEST(WindowSlotsDeathTest, ListHasOneEntryPerWindowSlot) {
  std::vector<std::int64_t> out(3);
  EXPECT_DEATH(window_positions(5, 4, 0, out), "one entry per window slot");
}

}  // namespace
}  // namespace cachalot::window_slots_test
