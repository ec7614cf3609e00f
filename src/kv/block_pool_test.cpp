// SPDX-License-Identifier: Apache-2.0
#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace cachalot::block_pool_test {
namespace {

void write(const HeldBlock& b, int value) {
  host_memory().upload(b.at(), std::vector(40, static_cast<std::byte>(value)));
}
int read(const HeldBlock& b) {
  std::vector<std::byte> bytes(40);
  host_memory().download(bytes, b.at());
  return static_cast<int>(bytes[39]);
}

TEST(BlockPool, BlocksKeepTheirBytesWhileItGrows) {
  const auto pool = std::make_shared<BlockPool>(host_memory(), 40);
  std::vector<HeldBlock> blocks;
  for (int i = 0; i < 200; ++i) write(blocks.emplace_back(pool), i);
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 200; ++i) {
    const HeldBlock& b = blocks[static_cast<std::size_t>(i)];
    EXPECT_EQ(read(b), i);
    EXPECT_EQ(b.number(), i);
    EXPECT_EQ(b.at(), pool->base() + i * pool->step());
    ids.insert(b.id());
  }
  const auto other = std::make_shared<BlockPool>(host_memory(), 40);
  ids.insert(HeldBlock(other).id());
  EXPECT_EQ(ids.size(), 201u);
}

TEST(BlockPool, ABlockThatNobodyHoldsAnyMoreIsTakenAgainAndZero) {
  const auto pool = std::make_shared<BlockPool>(host_memory(), 40);
  HeldBlock kept(pool);
  { write(HeldBlock(pool), 7); }
  EXPECT_EQ(read(HeldBlock(pool)), 0);
  EXPECT_EQ(pool->blocks(), 2);
  const HeldBlock again(pool);
  HeldBlock shared = again.share();
  { const HeldBlock gone = std::move(shared); }
  write(again, 5);
  EXPECT_EQ(HeldBlock(pool).number(), 2) << "one holder is left";
  EXPECT_EQ(read(again), 5);
}

TEST(BlockPool, ASharedBlockIsCopiedBeforeItIsWrittenAndAnOwnOneIsNot) {
  const auto pool = std::make_shared<BlockPool>(host_memory(), 40);
  HeldBlock mine(pool);
  write(mine, 1);
  const std::int32_t number = mine.number();
  mine.make_own();
  EXPECT_EQ(mine.number(), number);
  HeldBlock yours = mine.share();
  EXPECT_EQ(yours.number(), number);
  yours.make_own();
  EXPECT_NE(yours.number(), number);
  EXPECT_EQ(read(yours), 1);
  write(yours, 2);
  EXPECT_EQ(read(mine), 1);
  mine.make_own();
  EXPECT_EQ(mine.number(), number) << "nobody else holds it now";
}

TEST(BlockPool, BlocksOfNoBytesAreStillNumbered) {
  const auto pool = std::make_shared<BlockPool>(host_memory(), 0);
  const HeldBlock one(pool), two(pool);
  EXPECT_NE(one.number(), two.number());
}

}  // namespace
}  // namespace cachalot::block_pool_test
