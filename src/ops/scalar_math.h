// SPDX-License-Identifier: Apache-2.0
// What several operators compute one number at a time.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace cachalot {

// In double, so that e^-x is finite for nearly any x; where it is not, 0 is right.
inline float sigmoid(float x) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x)))); }

// The reference's dot product of decoded rows of one width: summed in double, rounded once.
inline float dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return static_cast<float>(sum);
}

}  // namespace cachalot
