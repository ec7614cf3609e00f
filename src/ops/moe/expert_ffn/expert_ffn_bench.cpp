// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/expert_ffn/expert_ffn.h"

#include <fmt/core.h>

#include <set>

#include "bench/operators.h"

namespace cachalot {
namespace {

// An expert's weights count once, however many rows go to it.
Work work(const ExpertFfnArgs& a) {
  Work w{.read = bytes(a.x) + bytes(a.expert) + bytes(a.weight), .written = bytes(a.out)};
  std::set<std::int32_t> used;
  for (std::int64_t r = 0; r < a.expert.extent(0); ++r) {
    for (const std::int32_t e : a.expert[r].span()) {
      const ExpertWeights& x = a.experts[static_cast<std::size_t>(e)];
      w.flops += 2 * (x.w1.in * x.w1.out + x.w2.in * x.w2.out + x.w3.in * x.w3.out);
      if (used.insert(e).second) w.read += bytes(x.w1) + bytes(x.w2) + bytes(x.w3);
    }
  }
  return w;
}

void measure(Bench& bench, const char* what, WeightFormat format, std::int64_t experts, std::int64_t top_k) {
  const std::int64_t dim = bench.size(5120, 64);
  const std::int64_t inter = bench.size(2304, 32);
  Memory shared;
  const auto weights = shared.list<ExpertWeights>(experts);
  for (ExpertWeights& e : weights) {
    e = {shared.weight(format, inter, dim), shared.weight(format, dim, inter), shared.weight(format, inter, dim)};
  }
  for (const std::int64_t rows : bench.rows()) {
    const std::string shape = fmt::format("{} {} -> {}, {} of {}", what, dim, inter, top_k, experts);
    bench.measure(&Backend::expert_ffn, shape, rows, work, [&](Memory& m) {
      const auto expert = m.all<std::int32_t, 2>({rows, top_k}, 0);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t first = m.below(experts);
        for (std::int64_t k = 0; k < top_k; ++k) expert[r][k] = static_cast<std::int32_t>((first + k) % experts);
      }
      return ExpertFfnArgs{.x = m.bf16s<2>({rows, dim}),
                           .experts = weights,
                           .expert = expert,
                           .weight = m.floats<2>({rows, top_k}),
                           .limit = 10,
                           .out = m.bf16_out<3>({rows, top_k, dim})};
    });
  }
}

}  // namespace

// Eight of the 384 routed experts: one row meets six of them, as in the model; 64 rows give each 48, as a chunk of
// 3072 rows gives each of 384.
void expert_ffn_bench(Bench& bench) {
  measure(bench, "routed e2m1", WeightFormat::e2m1_row32, 8, 6);
  measure(bench, "shared e4m3", WeightFormat::e4m3_block32, 1, 1);
}

}  // namespace cachalot
