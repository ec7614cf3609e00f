// SPDX-License-Identifier: Apache-2.0
#include "tensor/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cachalot::view_test {
namespace {

std::vector<int> counting(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

TEST(View, IndexWalksTheAxesInOrder) {
  auto data = counting(2 * 3 * 4);
  const View<int, 3> v(data.data(), {2, 3, 4});
  EXPECT_EQ(v.size(), 24);
  EXPECT_EQ(v.strides(), (std::array<std::int64_t, 3>{12, 4, 1}));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(v[i / 12][i / 4 % 3][i % 4], i);
}

TEST(View, WritesThroughToWhatItBorrows) {
  auto data = counting(6);
  const View<int, 2> v(data.data(), {2, 3});
  v[1][2] = 42;
  EXPECT_EQ(data[5], 42);
  const View<const int, 2> reader = v;
  EXPECT_EQ(reader[1][2], 42);
  EXPECT_EQ(reader.data(), data.data());
}

TEST(View, StridesLeaveGapsOut) {
  auto data = counting(12);
  const View<int, 2> columns(data.data() + 1, {3, 2}, {4, 1});  // the middle two of four columns
  EXPECT_EQ(columns[0][0], 1);
  EXPECT_EQ(columns[2][1], 10);
}

TEST(View, PartKeepsStridesAndMayBeEmpty) {
  auto data = counting(12);
  const View<int, 2> v(data.data(), {3, 2}, {4, 1});
  const auto tail = v.part(1, 2);
  EXPECT_EQ(tail.extent(0), 2);
  EXPECT_EQ(tail[1][1], 9);
  EXPECT_TRUE(v.part(3, 0).empty());
}

TEST(View, EmptyViewHasNoElements) {
  EXPECT_TRUE((View<int, 2>().empty()));
  EXPECT_TRUE((View<int, 2>(nullptr, {5, 0}).empty()));
  EXPECT_EQ((View<int, 2>(nullptr, {5, 0}).extent(0)), 5);
}

TEST(View, SpanCoversTheLastAxis) {
  auto data = counting(6);
  const View<int, 2> v(data.data(), {2, 3});
  EXPECT_TRUE(std::ranges::equal(v[1].span(), std::vector<int>{3, 4, 5}));
}

TEST(ViewDeathTest, LastAxisMustBeContiguous) {
  auto data = counting(12);
  EXPECT_DEATH((View<int, 2>(data.data(), {3, 2}, {4, 2})), "last axis is contiguous");
}

}  // namespace
}  // namespace cachalot::view_test
