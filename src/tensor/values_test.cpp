// SPDX-License-Identifier: Apache-2.0
#include "tensor/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace cachalot::values_test {
namespace {

TEST(Values, StoringIntoBf16RoundsOnceAndIntoF32NotAtAll) {
  std::vector<bf16> narrow(2);
  std::vector<float> wide(2);
  const Values<1> a{View<bf16, 1>(narrow.data(), {2})};
  const Values<1> b{View<float, 1>(wide.data(), {2})};
  const double v = 1 + 0x1p-8 + 0x1p-40;  // two roundings would give 1
  a.store(1, v);
  b.store(1, v);
  EXPECT_EQ(a.load(1), 1 + 0x1p-7f);
  EXPECT_EQ(b.load(1), static_cast<float>(v));
  EXPECT_EQ(a.load(0), 0);
  EXPECT_TRUE(a.is_bf16());
  EXPECT_FALSE(b.is_bf16());
}

TEST(Values, AxesAndPartsFollowTheElementSize) {
  for (const DType type : {DType::f32, DType::bf16}) {
    std::vector<std::byte> memory(static_cast<std::size_t>(2 * 3 * 4 * bytes_of(type)));
    const Values<3> v(memory.data(), type, {2, 3, 4});
    for (std::int64_t i = 0; i < 24; ++i) v[i / 12][i / 4 % 3].store(i % 4, static_cast<double>(i));
    const ConstValues<3> reader = v;
    EXPECT_EQ(reader[1][2].load(3), 23) << name(type);
    EXPECT_EQ(reader[1].part(1, 2)[1].load(0), 20) << name(type);
    EXPECT_EQ((reader.reshape<2>({6, 4})[5].load(1)), 21) << name(type);
    EXPECT_EQ((reader.reshape<1>({24}).load(7)), 7) << name(type);
    EXPECT_TRUE(reader.dense());
  }
}

TEST(Values, StridedRowsAreNotDense) {
  std::vector<float> memory(12);
  for (std::size_t i = 0; i < 12; ++i) memory[i] = static_cast<float>(i);
  const ConstValues<2> v(View<const float, 2>(memory.data() + 1, {3, 2}, {4, 1}));
  EXPECT_EQ(v[2].load(1), 10);
  EXPECT_FALSE(v.dense());
}

TEST(Values, AsGivesTheTypeTheyHave) {
  std::vector<float> memory = {1, 2};
  const Values<1> v{View<float, 1>(memory.data(), {2})};
  EXPECT_EQ(v.as<float>()[1], 2);
  EXPECT_EQ(v.as<float>().data(), memory.data());
}

TEST(ValuesDeathTest, OnlyTheirOwnTypeAndShapeAreGivenOut) {
  std::vector<float> memory(12);
  const Values<2> v(memory.data(), DType::f32, {3, 4});
  EXPECT_DEATH((v.as<bf16>()), "names the type");
  EXPECT_DEATH((v.reshape<1>({11})), "reshape");
  EXPECT_DEATH((Values<1>(memory.data(), DType::i32, {12})), "bf16 or f32");
}

}  // namespace
}  // namespace cachalot::values_test
