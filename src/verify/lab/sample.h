// SPDX-License-Identifier: Apache-2.0
// Several runs of the same text as a sample. Where every run flips some roundings, the golden run is one more draw of
// the same kind, and how far it may lie from the mean of the others follows from how far those lie apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cachalot {

// Equally many numbers in each run; the plain one comes first. NaN and infinities pass on into the result.
struct Sample {
  std::vector<std::vector<float>> runs;

  std::vector<float> mean() const;
  // One run's own scatter: the median, over the others, of rms(run - plain) / sqrt 2, as a share of the rms of want.
  double sigma(std::span<const float> want) const;
};

// How far the mean of so many runs may be from one more: that one is sigma from the middle of all there could be, the
// mean sigma / sqrt(runs); a quarter more, because sigma itself is measured on few.
double sample_limit(double sigma, std::size_t runs);

// How many of the rows pick another token.
std::int64_t rows_that_differ(std::span<const std::int64_t> best, std::span<const std::int64_t> other);

}  // namespace cachalot
