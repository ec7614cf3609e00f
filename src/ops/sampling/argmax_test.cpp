// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling/argmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int32_t> run(Array<float, 2> x) {
  Context context;
  Array<std::int32_t, 1> index({x.shape[0]}, -7);
  argmax_ref(context, {x, index});
  return index.at;
}

std::int32_t of(std::vector<float> row) {
  Array<float, 2> x({1, static_cast<std::int64_t>(row.size())});
  x.at = std::move(row);
  return run(x)[0];
}

TEST(Argmax, LargestWinsWhereverItStands) {
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 497u}) {
    for (std::size_t at = 0; at < n; at += n / 5 + 1) {
      std::vector<float> row(n, -3.0f);
      row[at] = -2;
      EXPECT_EQ(of(row), static_cast<std::int32_t>(at)) << n;
    }
  }
}

TEST(Argmax, LowerIndexWinsATie) {
  EXPECT_EQ(of({1, 5, 2, 5, 5}), 1);
  EXPECT_EQ(of(std::vector<float>(129280, 0.25f)), 0);
  EXPECT_EQ(of({-0.0f, 0.0f}), 0);
}

TEST(Argmax, NanNeverWins) {
  EXPECT_EQ(of({nan, -1, nan, 3, nan}), 3);
  EXPECT_EQ(of({nan, -infinity}), 1);
  EXPECT_EQ(of({nan, nan}), 0);
}

TEST(Argmax, InfinitiesAreNumbers) {
  EXPECT_EQ(of({-infinity, -infinity}), 0);
  EXPECT_EQ(of({-infinity, -1e38f, infinity, 3}), 2);
}

TEST(Argmax, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(1);
  Array<float, 2> x({6, 40});
  for (float& v : x.at) v = static_cast<float>(random.below(9));
  const auto all = run(x);
  for (std::int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(of({x.at.begin() + row * 40, x.at.begin() + (row + 1) * 40}), all[static_cast<std::size_t>(row)]);
  }
}

}  // namespace
}  // namespace cachalot
