// SPDX-License-Identifier: Apache-2.0
// Routing, hyper-connections and rotation.
#include <optional>
#include <string>
#include <vector>

#include "verify/cases/ops_cases.h"

namespace cachalot {
namespace {

// What the golden files do not hold (tests/golden/README.md).
constexpr float route_scale = 1.5f;
constexpr int sinkhorn_iterations = 20;
constexpr float sinkhorn_eps = 1e-6f;

std::optional<ScoringFunc> scoring_of(std::string_view name) {
  if (name == "sqrtsoftplus") return ScoringFunc::sqrtsoftplus;
  if (name == "softmax") return ScoringFunc::softmax;
  if (name == "sigmoid") return ScoringFunc::sigmoid;
  return std::nullopt;
}

}  // namespace

Status verify_gate(OpsCase& c) {
  const auto scoring = scoring_of(c.name.substr(std::string_view("gate_").size()));
  if (!scoring) return fail(Errc::format, "{}: its name says no scoring function", c.golden.path());
  auto read = c.golden.read_all(
      {{"x", 'b', 2}, {"weight", 'b', 2}, {"bias", 'f', 1}, {"weights", 'f', 2}, {"indices", 'n', 2}});
  if (!read) return tl::unexpected(read.error());
  const auto& [x, gate, bias, weights, indices] = *read;
  const std::int64_t rows = x.extent(0), dim = x.extent(1), experts = gate.extent(0), top_k = indices.extent(1);
  for (const Status& fit :
       {c.golden.expect_shape(gate, {experts, dim}), c.golden.expect_shape(bias, {experts}),
        c.golden.expect_shape(weights, {rows, top_k}), c.golden.expect_shape(indices, {rows, top_k})}) {
    if (!fit) return fit;
  }
  if (top_k > experts) return fail(Errc::format, "{}: {} of {} experts", c.golden.path(), top_k, experts);
  std::vector<std::int32_t> expert(indices.numbers.size());
  std::vector<float> weight(weights.values.size());
  const std::vector<std::uint8_t> image(static_cast<std::size_t>(rows), 0);
  Context context;
  c.backend.router(context, {.x = ConstValues<2>(x.data, DType::bf16, {rows, dim}),
                             .gate = {.format = WeightFormat::bf16, .out = experts, .in = dim, .data = gate.data},
                             .bias = {bias.values.data(), {experts}},
                             .bias_vl = {},
                             .image = {image.data(), {rows}},
                             .scoring = *scoring,
                             .route_scale = route_scale,
                             .expert = {expert.data(), {rows, top_k}},
                             .weight = {weight.data(), {rows, top_k}}});
  c.report.compare_numbers("indices", std::vector<std::int64_t>(expert.begin(), expert.end()), indices.numbers, top_k);
  c.report.compare("weights", weight, weights.values, tolerances::gate_weights);
  return {};
}

Status verify_hc_sinkhorn(OpsCase& c) {
  auto read = c.golden.read_all(
      {{"mixes", 'f', 2}, {"scale", 'r', 1}, {"base", 'f', 1}, {"pre", 'f', 2}, {"post", 'f', 2}, {"comb", 'f', 3}});
  if (!read) return tl::unexpected(read.error());
  const auto& [mixes, scale, base, pre, post, comb] = *read;
  const std::int64_t rows = mixes.extent(0), hc = pre.extent(1), raw = (2 + hc) * hc;
  for (const Status& fit : {c.golden.expect_shape(mixes, {rows, raw}), c.golden.expect_shape(scale, {3}),
                            c.golden.expect_shape(base, {raw}), c.golden.expect_shape(pre, {rows, hc}),
                            c.golden.expect_shape(post, {rows, hc}), c.golden.expect_shape(comb, {rows, hc, hc})}) {
    if (!fit) return fit;
  }
  std::vector<float> got_pre(pre.values.size()), got_post(post.values.size()), got_comb(comb.values.size());
  Context context;
  c.backend.sinkhorn(context, {.mixes = {mixes.values.data(), {rows, raw}},
                               .base = {base.values.data(), {raw}},
                               .scale = {scale.values.data(), {3}},
                               .iterations = sinkhorn_iterations,
                               .eps = sinkhorn_eps,
                               .pre = {got_pre.data(), {rows, hc}},
                               .post = {got_post.data(), {rows, hc}},
                               .comb = {got_comb.data(), {rows, hc, hc}}});
  c.report.compare("pre", got_pre, pre.values, tolerances::hyper_connection);
  c.report.compare("post", got_post, post.values, tolerances::hyper_connection);
  c.report.compare("comb", got_comb, comb.values, tolerances::hyper_connection);
  return {};
}

Status verify_rope(OpsCase& c) {
  auto read = c.golden.read_all({{"params", 'f', 1},
                                 {"positions", 'n', 1},
                                 {"cos", 'f', 2},
                                 {"sin", 'f', 2},
                                 {"x", 'b', 4},
                                 {"rotated", 'b', 4},
                                 {"inverse", 'b', 4}});
  if (!read) return tl::unexpected(read.error());
  const auto& [params, positions, cos, sin, x, rotated, inverse] = *read;
  if (Status fit = c.golden.expect_shape(params, {6}); !fit) return fit;
  const float* p = params.values.data();  // dim, base, original, factor, beta_fast, beta_slow
  const std::int64_t batch = x.extent(0), length = x.extent(1), heads = x.extent(2), head_dim = x.extent(3);
  if (!(p[0] >= 2) || !(p[0] <= static_cast<float>(head_dim)) || static_cast<std::int64_t>(p[0]) % 2 != 0) {
    return fail(Errc::range, "{}: {} values are rotated, expected an even number up to {}", c.golden.path(), p[0],
                head_dim);
  }
  const auto pairs = static_cast<std::int64_t>(p[0]) / 2;
  for (const Status& fit :
       {c.golden.expect_shape(positions, {length}), c.golden.expect_shape(cos, {length, pairs}),
        c.golden.expect_shape(sin, {length, pairs}), c.golden.expect_shape(rotated, {batch, length, heads, head_dim}),
        c.golden.expect_shape(inverse, {batch, length, heads, head_dim})}) {
    if (!fit) return fit;
  }
  RopeScaling scaling{.base = p[1]};
  if (p[2] != 0) scaling = {.base = p[1], .factor = p[3], .original = p[2], .beta_fast = p[4], .beta_slow = p[5]};
  const std::vector<float> frequency = rope_frequencies(2 * pairs, scaling);
  std::vector<float> got_cos, got_sin;
  for (const std::int64_t position : positions.numbers) {
    for (const float f : frequency) {
      const Rotation r = rotation(position, f);
      got_cos.push_back(r.cos);
      got_sin.push_back(r.sin);
    }
  }
  c.report.compare("cos", got_cos, cos.values, tolerances::rotation);
  c.report.compare("sin", got_sin, sin.values, tolerances::rotation);

  std::vector<std::int64_t> position;
  for (std::int64_t b = 0; b < batch; ++b)
    position.insert(position.end(), positions.numbers.begin(), positions.numbers.end());
  const auto turn = [&](const GoldenTensor& from, const GoldenTensor& want, bool back) {
    std::vector<bf16> bits;
    for (const float v : from.values) bits.push_back(to_bf16(v));
    Context context;
    c.backend.rope(context, {.x = View<bf16, 3>(bits.data(), {batch * length, heads, head_dim}),
                             .position = {position.data(), {batch * length}},
                             .frequency = {frequency.data(), {pairs}},
                             .inverse = back});
    std::vector<float> got;
    for (const bf16 b : bits) got.push_back(to_float(b));
    c.report.compare(want.name, got, want.values, tolerances::bf16_operator);
  };
  turn(x, rotated, false);
  turn(x, inverse, true);
  return {};
}

}  // namespace cachalot
