// SPDX-License-Identifier: Apache-2.0
// How far numbers are from the golden ones. Errors are |got - want| / rms(want), one rms for a whole tensor, unless a
// name says otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cachalot {

// NaN and infinities must stand in the same places; where they do they count as equal, where they do not the element is
// unequal and all errors are infinite. 0 and -0 are equal.
struct ErrorStats {
  std::int64_t count = 0;
  std::int64_t unequal = 0;
  std::int64_t first_unequal = -1;  // index, -1 = all equal
  bool special_places_match = true;
  double median = 0;
  double p99 = 0;
  double max = 0;
  double rms = 0;       // of the errors
  double max_abs = 0;   // |got - want|
  double max_ulps = 0;  // |got - want| in bf16 units of the larger one's binade

  double unequal_share() const { return count == 0 ? 0 : static_cast<double>(unequal) / static_cast<double>(count); }
};

// Equally many of both.
ErrorStats error_stats(std::span<const float> got, std::span<const float> want);

// The value below which the share q of the numbers lies, between neighbours in proportion; 0 of nothing.
double quantile(std::vector<double> numbers, double q);

// Root mean square of the finite ones; 1 where that would be 0, so that it can divide.
double rms_of(std::span<const float> values);

// Errors of each row of `width` numbers, against the rms of all of want.
struct RowErrors {
  std::vector<double> max;  // largest error of the row
  std::vector<double> l2;   // root mean square of the row's errors
};
RowErrors row_errors(std::span<const float> got, std::span<const float> want, std::int64_t width);

// The best value's index (the lower on a tie, NaN never) and its distance to the second best; infinite for one number.
struct Best {
  std::int64_t index = 0;
  double margin = 0;
};
Best best_of(std::span<const float> row);

}  // namespace cachalot
