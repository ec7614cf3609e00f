// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <fmt/core.h>

#include "bench/operators.h"

namespace cachalot {
namespace {

Work work(const LinearArgs& a) { return work_of_all(a, 2 * a.x.extent(0) * a.weight.in * a.weight.out); }

// The shapes differ in what binds: size, format and whether a sum is kept as f32.
struct WeightShape {
  const char* weight;
  WeightFormat format;
  std::int64_t out, in;
  bool f32_out = false;
};
constexpr WeightShape released_weights[] = {{"wq_a e4m3", WeightFormat::e4m3_block32, 1280, 5120},
                                            {"wkv e4m3", WeightFormat::e4m3_block32, 512, 5120},
                                            {"wq_b e4m3", WeightFormat::e4m3_block32, 32768, 1280},
                                            {"wo_b e4m3", WeightFormat::e4m3_block32, 5120, 8192},
                                            {"indexer wq_b e4m3", WeightFormat::e4m3_block32, 4096, 1280},
                                            {"engram wkv e4m3", WeightFormat::e4m3_block32, 25600, 6144},
                                            {"expert w1 e2m1", WeightFormat::e2m1_row32, 2304, 5120},
                                            {"weights_proj bf16", WeightFormat::bf16, 32, 5120},
                                            {"compressor wkv bf16", WeightFormat::bf16, 512, 5120, true},
                                            {"head/8 bf16", WeightFormat::bf16, 16160, 5120, true}};

}  // namespace

void linear_bench(Bench& bench) {
  for (const WeightShape& s : released_weights) {
    const std::int64_t in = bench.size(s.in, 96);
    const std::int64_t out = bench.size(s.out, 40);
    for (const std::int64_t rows : bench.rows()) {
      bench.measure(&Backend::linear, fmt::format("{} {} -> {}", s.weight, in, out), rows, work, [&](Memory& m) {
        const std::array<std::int64_t, 2> to = {rows, out};
        return LinearArgs{.x = m.bf16s<2>({rows, in}),
                          .weight = m.weight(s.format, out, in),
                          .out = s.f32_out ? Values<2>(m.float_out<2>(to)) : m.bf16_out<2>(to)};
      });
    }
  }
}

}  // namespace cachalot
