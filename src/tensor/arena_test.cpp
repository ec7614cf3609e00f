// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cachalot::arena_test {
namespace {

TEST(Arena, GivesAlignedMemoryThatDoesNotOverlap) {
  Arena arena;
  std::vector<View<std::uint8_t, 1>> taken;
  for (const std::int64_t n : {0, 1, 63, 64, 65, 1000, 2'000'000}) {
    taken.push_back(arena.take<std::uint8_t, 1>({n}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.back().data()) % 64, 0u) << n;
    for (std::int64_t i = 0; i < n; ++i) taken.back()[i] = static_cast<std::uint8_t>(taken.size());
  }
  for (std::size_t t = 0; t < taken.size(); ++t) {
    for (std::int64_t i = 0; i < taken[t].size(); ++i) ASSERT_EQ(taken[t][i], t + 1);
  }
}

TEST(Arena, FrameGivesBackWhatWasTakenInIt) {
  Arena arena;
  void* kept = arena.take_bytes(100);
  void* first = nullptr;
  {
    const Arena::Frame frame(arena);
    first = arena.take_bytes(100);
    EXPECT_NE(first, kept);
  }
  const Arena::Frame frame(arena);
  EXPECT_EQ(arena.take_bytes(100), first);
}

TEST(Arena, FramesNestAcrossBlocks) {
  Arena arena;
  const Arena::Frame outer(arena);
  void* a = arena.take_bytes(1 << 19);
  std::memset(a, 1, 1 << 19);
  void* big = nullptr;
  {
    const Arena::Frame inner(arena);
    big = arena.take_bytes(3 << 20);  // does not fit the first block
    std::memset(big, 2, 3 << 20);
  }
  void* again = arena.take_bytes(1 << 18);  // fits behind a
  std::memset(again, 3, 1 << 18);
  EXPECT_EQ(static_cast<std::byte*>(a)[(1 << 19) - 1], std::byte{1});
  EXPECT_EQ(arena.take_bytes(3 << 20), big);  // the memory of before, not new
}

TEST(Arena, PeakIsTheMostInUseAtOnce) {
  Arena arena;
  EXPECT_EQ(arena.peak_bytes(), 0);
  {
    const Arena::Frame frame(arena);
    arena.take_bytes(1000);
    arena.take_bytes(24);
  }
  arena.take_bytes(64);
  EXPECT_EQ(arena.peak_bytes(), 1024 + 64);  // in lines of 64 bytes
}

TEST(Arena, TakesViewsAndValuesOfAShape) {
  Arena arena;
  EXPECT_EQ((arena.take<float, 2>({3, 5}).size()), 15);
  const Values<2> v = arena.take_values<2>(DType::bf16, {3, 5});
  EXPECT_TRUE(v.is_bf16());
  EXPECT_EQ(v.extent(1), 5);
  EXPECT_EQ(arena.peak_bytes(), 64 + 64);
}

}  // namespace
}  // namespace cachalot::arena_test
