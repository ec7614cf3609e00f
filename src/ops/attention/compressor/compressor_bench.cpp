// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/compressor/compressor.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

// A token's channel: difference to the largest, e^x, sum, and the weighted sum; the channel: one division a token.
Work work(const CompressorArgs& a) { return work_of_all(a, 6 * a.token.size() * a.out.extent(1)); }

}  // namespace

void compressor_bench(Bench& bench) {
  const std::int64_t dim = bench.size(512, 40);
  const std::int64_t ratio = 2;
  for (const std::int64_t groups : bench.rows()) {
    bench.measure(&Backend::compressor, fmt::format("ratio {}, dim {}", ratio, dim), groups, work, [&](Memory& m) {
      const auto token = m.all<std::int32_t, 2>({groups, ratio}, 0);
      for (std::int64_t i = 0; i < token.size(); ++i) token.data()[i] = static_cast<std::int32_t>(i);
      return CompressorArgs{.own = m.packed(RowFormat::f32, 2 * dim, groups * ratio),
                            .kept = {},
                            .token = token,
                            .out = m.bf16_out<2>({groups, dim})};
    });
  }
}

}  // namespace cachalot
