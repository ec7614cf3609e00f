// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/gate/gate.h"

#include <algorithm>
#include <cmath>
namespace cachalot {

void engram_gate_ref(Context&, const EngramGateArgs& a) {
  const std::int64_t copies = a.h.extent(1), dim = a.h.extent(2);
  const auto n = static_cast<double>(dim);
  for (std::int64_t r = 0; r < a.h.extent(0); ++r) {
    const auto value = a.kv[r].part(copies * dim, dim);
    for (std::int64_t c = 0; c < copies; ++c) {
      const auto h = a.h[r][c], key = a.kv[r].part(c * dim, dim);
      double dot = 0, h_squares = 0, key_squares = 0;
      for (std::int64_t d = 0; d < dim; ++d) {
        const float weight = a.q_weight[c].load(d) * a.k_weight[c].load(d);
        const float x = h.load(d), y = key.load(d);
        dot += x * weight * y;
        h_squares += x * x;
        key_squares += y * y;
      }
      const auto inverse_root = [&](double squares) { return 1 / std::sqrt(static_cast<float>(squares / n) + a.eps); };
      const float similarity = static_cast<float>(dot) * inverse_root(h_squares) * inverse_root(key_squares) *
                               static_cast<float>(1 / std::sqrt(n));
      const double root = std::sqrt(std::max(std::abs(similarity), 1e-6f));
      const double z = similarity > 0 ? root : similarity < 0 ? -root : similarity;  // sign(0) is 0, NaN stays NaN
      const bool closed = a.image[r] != 0;
      a.gate[r][c] = closed ? 0.0f : static_cast<float>(1 / (1 + std::exp(-z)));
      for (std::int64_t d = 0; d < dim; ++d) {
        const float x = h.load(d);
        a.out[r][c].store(d, closed ? x : x + a.gate[r][c] * value.load(d));
      }
    }
  }
}

}  // namespace cachalot
