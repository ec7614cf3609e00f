// SPDX-License-Identifier: Apache-2.0
#include "ops/rope/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cachalot {
namespace {

// The pair whose wave turns `turns` times within the trained length.
double pair_of(double turns, double rope_dim, const RopeScaling& s) {
  return rope_dim * std::log(s.original / (2 * std::numbers::pi * turns)) / (2 * std::log(static_cast<double>(s.base)));
}

}  // namespace

// The power is taken in double and rounded once, which is the correctly rounded f32 power whatever the library: none of
// the model's powers lies nearer than 0.02 f32 steps to a tie. f32 powers of common libraries are one step off for some
// pairs, and that step shows in the second digit of a cosine at position 1,000,000.
std::vector<float> rope_frequencies(std::int64_t rope_dim, const RopeScaling& s) {
  std::vector<float> frequency;
  for (std::int64_t i = 0; i < rope_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(rope_dim);
    frequency.push_back(1.0f /
                        static_cast<float>(std::pow(static_cast<double>(s.base), static_cast<double>(exponent))));
  }
  if (s.factor == 0) return frequency;
  const auto dim = static_cast<double>(rope_dim);
  const double low = std::max(std::floor(pair_of(s.beta_fast, dim, s)), 0.0);
  const double high = std::min(std::ceil(pair_of(s.beta_slow, dim, s)), dim - 1);
  const auto span = static_cast<float>(std::max(high - low, 1e-3));
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const float ramp = std::clamp((static_cast<float>(i) - static_cast<float>(low)) / span, 0.0f, 1.0f);
    frequency[i] = frequency[i] / s.factor * ramp + frequency[i] * (1.0f - ramp);
  }
  return frequency;
}

Rotation rotation(std::int64_t position, float frequency) {
  const double angle = static_cast<float>(position) * frequency;  // the product is f32
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace cachalot
