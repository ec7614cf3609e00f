// SPDX-License-Identifier: Apache-2.0
#include "verify/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace cachalot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Infinite where only one side is finite.
double distance(float got, float want) {
  if (same(got, want)) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return infinity;
  return std::abs(static_cast<double>(got) - want);
}

double ulps(double distance, float got, float want) {
  if (distance == 0) return 0;
  const double larger = std::max({std::abs(static_cast<double>(got)), std::abs(static_cast<double>(want)), 0x1p-126});
  return distance / std::ldexp(1.0, std::ilogb(larger) - 7);  // bf16 has 7 bits behind the leading one
}

}  // namespace

double quantile(std::vector<double> numbers, double q) {
  if (numbers.empty()) return 0;
  std::ranges::sort(numbers);
  const double at = q * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, numbers.size() - 1);
  if (numbers[below] == numbers[above]) return numbers[below];  // also keeps infinities out of the product
  return numbers[below] + (at - std::floor(at)) * (numbers[above] - numbers[below]);
}

double rms_of(std::span<const float> values) {
  double sum = 0;
  std::int64_t finite = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    sum += static_cast<double>(v) * v;
    ++finite;
  }
  return sum > 0 ? std::sqrt(sum / static_cast<double>(finite)) : 1.0;
}

ErrorStats error_stats(std::span<const float> got, std::span<const float> want) {
  check(got.size() == want.size(), "errors are taken of equally many numbers");
  ErrorStats s;
  s.count = static_cast<std::int64_t>(got.size());
  const double rms = rms_of(want);
  std::vector<double> errors;
  errors.reserve(got.size());
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = distance(got[i], want[i]);
    if (d != 0) {
      ++s.unequal;
      if (s.first_unequal < 0) s.first_unequal = static_cast<std::int64_t>(i);
      s.max_abs = std::max(s.max_abs, d);
      if (std::isfinite(d)) {
        s.max_ulps = std::max(s.max_ulps, ulps(d, got[i], want[i]));
      } else {
        s.special_places_match = false;
        s.max_ulps = infinity;
      }
    }
    errors.push_back(d / rms);
    squares += errors.back() * errors.back();
  }
  if (errors.empty()) return s;
  s.max = std::ranges::max(errors);
  s.rms = std::sqrt(squares / static_cast<double>(errors.size()));
  s.median = quantile(errors, 0.5);
  s.p99 = quantile(std::move(errors), 0.99);
  return s;
}

RowErrors row_errors(std::span<const float> got, std::span<const float> want, std::int64_t width) {
  check(got.size() == want.size() && width > 0 && got.size() % static_cast<std::size_t>(width) == 0,
        "row errors are taken of whole rows");
  RowErrors rows;
  const double rms = rms_of(want);
  for (std::size_t first = 0; first < got.size(); first += static_cast<std::size_t>(width)) {
    double max = 0, squares = 0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(width); ++i) {
      const double e = distance(got[i], want[i]) / rms;
      max = std::max(max, e);
      squares += e * e;
    }
    rows.max.push_back(max);
    rows.l2.push_back(std::sqrt(squares / static_cast<double>(width)));
  }
  return rows;
}

Best best_of(std::span<const float> row) {
  Best best{0, infinity};
  float top = -std::numeric_limits<float>::infinity(), second = top;
  bool found = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) continue;
    if (!found || row[i] > top) {
      if (found) second = top;
      top = row[i];
      best.index = static_cast<std::int64_t>(i);
      found = true;
    } else {
      second = std::max(second, row[i]);
    }
  }
  if (std::isfinite(second)) best.margin = static_cast<double>(top) - second;
  return best;
}

}  // namespace cachalot
