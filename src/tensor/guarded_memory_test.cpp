// SPDX-License-Identifier: Apache-2.0
#include "tensor/guarded_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace cachalot::guarded_memory_test {
namespace {

using GuardedMemoryDeathTest = ::testing::Test;

int read(const std::byte* at) { return static_cast<int>(*static_cast<const volatile std::byte*>(at)); }

TEST_F(GuardedMemoryDeathTest, NobodyReadsOrWritesThere) {
  GuardedMemory memory;
  std::byte* const at = memory.take(100);
  EXPECT_DEATH(read(at), "");
  EXPECT_DEATH(*static_cast<volatile std::byte*>(at) = std::byte{1}, "");
  std::byte* const grown = memory.grow(at, 100, 1 << 20);
  EXPECT_DEATH(read(at), "");  // where it was
  EXPECT_DEATH(read(grown), "");
  EXPECT_DEATH(read(grown + (1 << 20) - 1), "");
  memory.give(grown, 1 << 20);
}

TEST_F(GuardedMemoryDeathTest, NothingReachesBeyondAPiece) {
  GuardedMemory memory;
  std::byte* const at = memory.take(100);
  *memory.behind(at + 99, 1) = std::byte{7};
  EXPECT_EQ(memory.behind(at, 100) + 99, memory.behind(at + 99, 1));
  EXPECT_DEATH(memory.behind(at + 99, 2), "within one piece");
  EXPECT_DEATH(memory.clear(at, 101), "within one piece");
  std::byte own{};
  EXPECT_EQ(memory.behind(&own, 1), &own);
  EXPECT_DEATH(memory.give(at, 99), "taken here");
  memory.give(at, 100);
}

TEST(GuardedMemory, MovesBytes) {
  GuardedMemory memory;
  std::byte* at = memory.take(100);
  const std::vector<std::byte> seven(50, std::byte{7});
  memory.upload(at, seven);
  memory.copy(at + 50, at, 40);
  memory.clear(at + 10, 10);
  at = memory.grow(at, 100, 5000);
  std::vector<std::byte> all(5000, std::byte{1});
  memory.download(all, at);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_seven = (i < 90) && !(i >= 10 && i < 20);
    ASSERT_EQ(all[i], is_seven ? std::byte{7} : std::byte{0}) << i;
  }
  memory.give(at, 5000);
  EXPECT_EQ(memory.take(0), nullptr);
  memory.give(nullptr, 0);
  EXPECT_FALSE(memory.on_host());
}

}  // namespace
}  // namespace cachalot::guarded_memory_test
