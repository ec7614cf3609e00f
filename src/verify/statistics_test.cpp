// SPDX-License-Identifier: Apache-2.0
#include "verify/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cachalot::statistics_test {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");

ErrorStats stats(std::vector<float> got, std::vector<float> want) { return error_stats(got, want); }

TEST(ErrorStats, NothingHasNoErrors) {
  const ErrorStats s = stats({}, {});
  EXPECT_EQ(s.count, 0);
  EXPECT_EQ(s.max, 0);
  EXPECT_EQ(s.unequal_share(), 0);
}

TEST(ErrorStats, EqualNumbersHaveNoErrors) {
  const ErrorStats s = stats({1, -2, 0.0f}, {1, -2, -0.0f});
  EXPECT_EQ(s.unequal, 0);
  EXPECT_EQ(s.first_unequal, -1);
  EXPECT_EQ(s.max, 0);
  EXPECT_EQ(s.max_ulps, 0);
}

TEST(ErrorStats, ErrorsAreSharesOfTheGoldenRootMeanSquare) {
  const ErrorStats s = stats({3, 4, 3, 5}, {3, 3, 3, 3});
  EXPECT_DOUBLE_EQ(s.max, 2.0 / 3);
  EXPECT_DOUBLE_EQ(s.max_abs, 2);
  EXPECT_DOUBLE_EQ(s.median, 0.5 / 3);
  EXPECT_DOUBLE_EQ(s.rms, std::sqrt(5.0 / 4) / 3);
  EXPECT_EQ(s.unequal, 2);
  EXPECT_EQ(s.first_unequal, 1);
}

TEST(ErrorStats, GoldenZerosAreComparedAsTheyAre) { EXPECT_DOUBLE_EQ(stats({0.25f, 0}, {0, 0}).max, 0.25); }

TEST(ErrorStats, UlpsCountInTheBinadeOfTheLargerNumber) {
  EXPECT_DOUBLE_EQ(stats({1.0078125f}, {1.0f}).max_ulps, 1);
  EXPECT_DOUBLE_EQ(stats({2.0f}, {1.9921875f}).max_ulps, 0.5);
  EXPECT_DOUBLE_EQ(stats({-1.0f}, {1.0f}).max_ulps, 256);
}

TEST(ErrorStats, NaNAndInfinityInTheSamePlacesAreEqual) {
  const ErrorStats s = stats({nan, inf, -inf, 1}, {nan, inf, -inf, 1});
  EXPECT_TRUE(s.special_places_match);
  EXPECT_EQ(s.unequal, 0);
}

TEST(ErrorStats, NaNOrInfinityOutOfPlaceIsAnInfiniteError) {
  for (const auto& [got, want] :
       {std::pair(nan, 1.0f), std::pair(1.0f, nan), std::pair(inf, 1.0f), std::pair(-inf, inf)}) {
    const ErrorStats s = stats({got, 1}, {want, 1});
    EXPECT_FALSE(s.special_places_match);
    EXPECT_EQ(s.max, std::numeric_limits<double>::infinity());
    EXPECT_EQ(s.first_unequal, 0);
  }
}

TEST(Quantile, LiesBetweenNeighboursInProportion) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 100}, 0.99), 99);
}

TEST(RowErrors, EachRowIsMeasuredByTheRmsOfAll) {
  const std::vector<float> want = {1, 1, 7, 7}, got = {1, 2, 7, 7};
  const RowErrors rows = row_errors(got, want, 2);
  ASSERT_EQ(rows.max.size(), 2u);
  EXPECT_DOUBLE_EQ(rows.max[0], 0.2);
  EXPECT_DOUBLE_EQ(rows.l2[0], 0.2 / std::sqrt(2.0));
  EXPECT_EQ(rows.max[1], 0);
}

TEST(BestOf, TieGoesToTheLowerIndexWithoutMargin) {
  const std::vector<float> row = {1, 3, 3, 2};
  EXPECT_EQ(best_of(row).index, 1);
  EXPECT_EQ(best_of(row).margin, 0);
}

TEST(BestOf, NaNNeverWins) {
  const std::vector<float> row = {nan, -5, -4.5f};
  EXPECT_EQ(best_of(row).index, 2);
  EXPECT_EQ(best_of(row).margin, 0.5);
}

}  // namespace
}  // namespace cachalot::statistics_test
