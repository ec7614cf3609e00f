// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "numerics/row_format.h"
#include "ops/linear/linear.h"

namespace cachalot {
namespace {

// A row of x as the products read it: codes and scales of spec 7 where the linear is quantized, else its values.
struct Input {
  std::vector<float> code;
  std::vector<float> scale;  // one per 32 codes; empty when not quantized
};

Input input(ConstValues<1> x, bool quantized) {
  Input in{x.floats(), {}};
  for (std::size_t i = 0; quantized && i < in.code.size(); i += 32) {
    std::array<std::uint8_t, 32> codes;
    in.scale.push_back(to_float(e8m0{quantize_e4m3_e8m0({in.code.data() + i, 32}, codes.data())}));
    std::ranges::transform(codes, in.code.begin() + static_cast<std::ptrdiff_t>(i),
                           [](std::uint8_t c) { return to_float(e4m3{c}); });
  }
  return in;
}

double plain_dot(const Input& x, const std::vector<float>& weight) {
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) sum += static_cast<double>(x.code[i]) * weight[i];
  return sum;
}

float block_dot(const Input& x, const std::vector<float>& code, const Weight& w, std::int64_t o) {
  float sum = 0;
  for (std::size_t block = 0; block < x.scale.size(); ++block) {
    float part = 0;
    for (std::size_t i = 32 * block; i < 32 * block + 32; ++i) part += x.code[i] * code[i];
    sum += part * x.scale[block] * w.block_scale(o, static_cast<std::int64_t>(block));
  }
  return sum;
}

}  // namespace

void linear_ref(Context&, const LinearArgs& a) {
  const Weight& w = a.weight;
  const bool quantized = w.quantized() && a.x.is_bf16();
  check(a.x.extent(1) == w.in && a.out.extent(1) == w.out && a.x.extent(0) == a.out.extent(0), "linear: shapes fit");
  check(!quantized || w.in % 32 == 0, "linear: a quantized input has whole groups of 32");
  std::vector<Input> x;
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) x.push_back(input(a.x[row], quantized));
  std::vector<float> weight(static_cast<std::size_t>(w.in));
  for (std::int64_t o = 0; o < w.out; ++o) {
    quantized ? w.codes(o, weight) : w.values(o, weight);
    for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
      const Input& in = x[static_cast<std::size_t>(row)];
      a.out[row].store(o, quantized ? block_dot(in, weight, w, o) : plain_dot(in, weight));
    }
  }
}

}  // namespace cachalot
