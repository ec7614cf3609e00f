// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/ids.h"
#include "verify/cases/ops_cases.h"

namespace cachalot {
namespace {

// What a bf16 operator writes into, and its values.
struct Bf16Out {
  std::vector<bf16> bits;

  explicit Bf16Out(std::size_t size) : bits(size) {}
  std::vector<float> values() const {
    std::vector<float> v;
    for (const bf16 b : bits) v.push_back(to_float(b));
    return v;
  }
};

template <int N>
ConstValues<N> bf16_values(const GoldenTensor& t, std::array<std::int64_t, N> shape) {
  return {t.data, DType::bf16, shape};
}

Weight bf16_weight(const GoldenTensor& t) {
  return {.format = WeightFormat::bf16, .out = t.extent(0), .in = t.extent(1), .data = t.data};
}

void run_linear(OpsCase& c, const GoldenTensor& a, const Weight& weight, const GoldenTensor& want) {
  Bf16Out y(want.values.size());
  Context context;
  const std::int64_t rows = a.extent(0);
  c.backend.linear(context,
                   {bf16_values<2>(a, {rows, weight.in}), weight, View<bf16, 2>(y.bits.data(), {rows, weight.out})});
  c.report.compare(want.name, y.values(), want.values, tolerances::bf16_operator);
}

}  // namespace

Status verify_gemm(OpsCase& c) {
  auto read = c.golden.read_all({{"a", 'b', 2},
                                 {"w8", '8', 2},
                                 {"w8_scale", '8', 2},
                                 {"w4", '8', 2},
                                 {"w4_scale", '8', 2},
                                 {"y8", 'b', 2},
                                 {"y4", 'b', 2}});
  if (!read) return tl::unexpected(read.error());
  const auto& [a, w8, w8_scale, w4, w4_scale, y8, y4] = *read;
  const std::int64_t rows = a.extent(0), in = a.extent(1), out = w8.extent(0);
  if (in % 32 != 0) return fail(Errc::format, "{}: rows of {}, expected whole groups of 32", c.golden.path(), in);
  for (const Status& fit : {c.golden.expect_shape(w8, {out, in}),
                            c.golden.expect_shape(w8_scale, {ceil_div<std::int64_t>(out, 32), in / 32}),
                            c.golden.expect_shape(w4, {out, in / 2}), c.golden.expect_shape(w4_scale, {out, in / 32}),
                            c.golden.expect_shape(y8, {rows, out}), c.golden.expect_shape(y4, {rows, out})}) {
    if (!fit) return fit;
  }
  const auto* scale8 = static_cast<const std::uint8_t*>(w8_scale.data);
  const auto* scale4 = static_cast<const std::uint8_t*>(w4_scale.data);
  run_linear(c, a, {WeightFormat::e4m3_block32, out, in, w8.data, scale8}, y8);
  run_linear(c, a, {WeightFormat::e2m1_row32, out, in, w4.data, scale4}, y4);
  return {};
}

Status verify_rms_norm(OpsCase& c) {
  auto read = c.golden.read_all({{"x", 'b', 2}, {"weight", 'b', 1}, {"y", 'b', 2}});
  if (!read) return tl::unexpected(read.error());
  const auto& [x, weight, y] = *read;
  const std::int64_t rows = x.extent(0), dim = x.extent(1);
  for (const Status& fit : {c.golden.expect_shape(weight, {dim}), c.golden.expect_shape(y, {rows, dim})}) {
    if (!fit) return fit;
  }
  constexpr float eps = 1e-20f;  // of the text model; the file does not hold it
  Bf16Out out(y.values.size());
  Context context;
  c.backend.rms_norm(context, {bf16_values<2>(x, {rows, dim}), bf16_values<1>(weight, {dim}), eps,
                               View<bf16, 2>(out.bits.data(), {rows, dim})});
  c.report.compare("y", out.values(), y.values, tolerances::bf16_operator);
  return {};
}

Status verify_expert_swiglu(OpsCase& c) {
  auto read = c.golden.read_all({{"x", 'b', 2},
                                 {"w1", 'b', 2},
                                 {"w2", 'b', 2},
                                 {"w3", 'b', 2},
                                 {"weights", 'f', 2},
                                 {"limit", 'f', 1},
                                 {"y", 'b', 2}});
  if (!read) return tl::unexpected(read.error());
  const auto& [x, w1, w2, w3, weights, limit, y] = *read;
  const std::int64_t rows = x.extent(0), dim = x.extent(1), inter = w1.extent(0);
  for (const Status& fit : {c.golden.expect_shape(w1, {inter, dim}), c.golden.expect_shape(w2, {dim, inter}),
                            c.golden.expect_shape(w3, {inter, dim}), c.golden.expect_shape(weights, {rows, 1}),
                            c.golden.expect_shape(limit, {1}), c.golden.expect_shape(y, {rows, dim})}) {
    if (!fit) return fit;
  }
  const ExpertWeights expert{bf16_weight(w1), bf16_weight(w2), bf16_weight(w3)};
  const std::vector<std::int32_t> chosen(static_cast<std::size_t>(rows), 0);
  Bf16Out out(y.values.size());
  Context context;
  c.backend.expert_ffn(context, {.x = bf16_values<2>(x, {rows, dim}),
                                 .experts = {&expert, 1},
                                 .expert = {chosen.data(), {rows, 1}},
                                 .weight = {weights.values.data(), {rows, 1}},
                                 .limit = limit.values[0],
                                 .out = View<bf16, 3>(out.bits.data(), {rows, 1, dim})});
  c.report.compare("y", out.values(), y.values, tolerances::bf16_operator);
  return {};
}

}  // namespace cachalot
