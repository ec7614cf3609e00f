// SPDX-License-Identifier: Apache-2.0
#include "ops/rope/rope.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// Only the rotated end of each head is touched; a pair takes four products and two sums.
Work work(const RopeArgs& a) {
  const std::int64_t pairs = a.x.extent(0) * a.x.extent(1) * a.frequency.extent(0);
  const std::int64_t rotated = 2 * pairs * bytes_of(a.x.type());
  return {.read = rotated + bytes(a.position) + bytes(a.frequency), .written = rotated, .flops = 6 * pairs};
}

}  // namespace

void rope_bench(Bench& bench) {
  const std::int64_t heads = bench.size(64, 2);
  const std::int64_t head_dim = bench.size(512, 16);
  const std::int64_t rope_dim = bench.size(64, 8);
  const std::vector<float> frequency =
      rope_frequencies(rope_dim, {.base = 160000, .factor = 16, .original = 65536, .beta_fast = 32, .beta_slow = 1});
  for (const std::int64_t rows : bench.rows()) {
    bench.measure(&Backend::rope, fmt::format("{} heads of {}, last {}", heads, head_dim, rope_dim), rows, work,
                  [&](Memory& m) {
                    const auto position = m.all<std::int64_t, 1>({rows}, 0);
                    for (std::int64_t& p : position.span()) p = m.below(1 << 20);
                    return RopeArgs{.x = m.bf16_in_place<3>({rows, heads, head_dim}),
                                    .position = position,
                                    .frequency = {frequency.data(), {rope_dim / 2}}};
                  });
  }
}

}  // namespace cachalot
