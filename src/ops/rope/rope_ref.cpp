// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "ops/rope/rope.h"

namespace cachalot {

void rope_ref(Context&, const RopeArgs& a) {
  const std::int64_t pairs = a.frequency.extent(0);
  const std::int64_t first = a.x.extent(2) - 2 * pairs;
  check(first >= 0 && a.position.extent(0) == a.x.extent(0), "rope: shapes fit");
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const Rotation by = rotation(a.position[row], a.frequency[i]);
      const float cos = by.cos;
      const float sin = a.inverse ? -by.sin : by.sin;
      for (std::int64_t head = 0; head < a.x.extent(1); ++head) {
        const auto x = a.x[row][head];
        const float real = x.load(first + 2 * i);
        const float imaginary = x.load(first + 2 * i + 1);
        x.store(first + 2 * i, real * cos - imaginary * sin);
        x.store(first + 2 * i + 1, real * sin + imaginary * cos);
      }
    }
  }
}

}  // namespace cachalot
