// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "verify/statistics.h"

namespace cachalot::sample_test {
namespace {

// Draws that scatter by sigma around 1, -1, 1, -1 …: so that their rms is 1.
struct Draws {
  std::mt19937 random{7};
  double sigma;

  std::vector<float> operator()(double shift = 0) {
    std::normal_distribution<double> noise;  // a sigma of 0 is none that the library's distribution takes
    std::vector<float> draw;
    for (int i = 0; i < 4000; ++i)
      draw.push_back(static_cast<float>((i % 2 == 0 ? 1 : -1) + sigma * noise(random) + shift));
    return draw;
  }
};

Sample nine(Draws& draw) {
  Sample sample;
  for (int i = 0; i < 9; ++i) sample.runs.push_back(draw());
  return sample;
}

double off(const Sample& sample, const std::vector<float>& golden) { return error_stats(sample.mean(), golden).rms; }

TEST(Sample, SigmaIsTheScatterOfOneRun) {
  Draws draw{.sigma = 0.02};
  const Sample sample = nine(draw);
  EXPECT_NEAR(sample.sigma(draw()), 0.02, 0.001);
}

TEST(Sample, OneMoreDrawLiesWithinTheLimitAndOneThatIsShiftedByHalfAsMuchAgainDoesNot) {
  Draws draw{.sigma = 0.02};
  const Sample sample = nine(draw);
  const double limit = sample_limit(sample.sigma(draw()), sample.runs.size());
  EXPECT_NEAR(limit, 1.25 * 0.02 * std::sqrt(10.0 / 9), 0.002);
  EXPECT_LT(off(sample, draw()), limit);
  EXPECT_GT(off(sample, draw(0.02)), limit);
}

TEST(Sample, MeanOfManyLiesNearerThanOneRun) {
  Draws draw{.sigma = 0.02};
  const Sample sample = nine(draw);
  const std::vector<float> golden = draw();
  EXPECT_LT(off(sample, golden), 0.8 * error_stats(sample.runs.front(), golden).rms);
}

TEST(Sample, RunsThatAreAllEqualLeaveNoRoom) {
  Draws draw{.sigma = 0};
  const Sample sample = nine(draw);
  EXPECT_EQ(sample.sigma(draw()), 0);
  EXPECT_EQ(off(sample, draw()), 0);
  EXPECT_GT(off(sample, draw(1e-4)), sample_limit(0, 9));
}

TEST(Sample, NanOfOneRunIsInTheMean) {
  Draws draw{.sigma = 0.02};
  Sample sample = nine(draw);
  sample.runs[3][5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sample.mean()[5]));
  EXPECT_TRUE(std::isinf(off(sample, draw())));
}

TEST(Sample, RowsThatDifferAreCounted) {
  EXPECT_EQ(rows_that_differ(std::vector<std::int64_t>{1, 2, 3, 4}, std::vector<std::int64_t>{1, 3, 2, 4}), 2);
}

}  // namespace
}  // namespace cachalot::sample_test
