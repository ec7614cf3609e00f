// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/sample.h"

#include <cmath>

#include "base/check.h"
#include "verify/statistics.h"

namespace cachalot {

std::vector<float> Sample::mean() const {
  check(!runs.empty(), "a mean is taken of some runs");
  std::vector<float> mean;
  for (std::size_t i = 0; i < runs.front().size(); ++i) {
    double sum = 0;
    for (const auto& run : runs) sum += run[i];
    mean.push_back(static_cast<float>(sum / static_cast<double>(runs.size())));
  }
  return mean;
}

double Sample::sigma(std::span<const float> want) const {
  const std::vector<float>& plain = runs.front();
  const double share = rms_of(plain) / rms_of(want);
  std::vector<double> scatter;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    scatter.push_back(error_stats(runs[i], plain).rms * share / std::sqrt(2.0));
  }
  return quantile(std::move(scatter), 0.5);
}

double sample_limit(double sigma, std::size_t runs) {
  return 1.25 * sigma * std::sqrt(1 + 1 / static_cast<double>(runs));
}

std::int64_t rows_that_differ(std::span<const std::int64_t> best, std::span<const std::int64_t> other) {
  check(best.size() == other.size(), "rows are compared one by one");
  std::int64_t differ = 0;
  for (std::size_t r = 0; r < best.size(); ++r) differ += best[r] != other[r] ? 1 : 0;
  return differ;
}

}  // namespace cachalot
