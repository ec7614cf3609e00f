// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/check.h"
#include "numerics/row_format.h"
#include "ops/linear/linear.h"

namespace cachalot {
namespace {

struct QuantizedRow {
  std::vector<std::uint8_t> codes;   // e4m3
  std::vector<std::uint8_t> scales;  // ue8m0, one per 32 codes
};

QuantizedRow quantize(ConstValues<1> x) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < x.extent(0); ++i) values.push_back(x.load(i));
  QuantizedRow q{std::vector<std::uint8_t>(values.size()), std::vector<std::uint8_t>(values.size() / 32)};
  encode_row(RowFormat::e4m3_e8m0_32, values, q.codes.data(), q.scales.data());
  return q;
}

float dot(const QuantizedRow& x, const Weight& w, std::int64_t o) {
  float sum = 0;
  for (std::size_t block = 0; block < x.scales.size(); ++block) {
    float part = 0;
    for (std::size_t i = 32 * block; i < 32 * block + 32; ++i) {
      part += to_float(e4m3{x.codes[i]}) * w.code(o, static_cast<std::int64_t>(i));
    }
    sum += part * to_float(e8m0{x.scales[block]}) * w.block_scale(o, static_cast<std::int64_t>(block));
  }
  return sum;
}

}  // namespace

void linear_ref(Context&, const LinearArgs& a) {
  const Weight& w = a.weight;
  const bool quantized = w.quantized() && a.x.is_bf16();
  check(a.x.extent(1) == w.in && a.out.extent(1) == w.out && a.x.extent(0) == a.out.extent(0), "linear: shapes fit");
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    const auto x = a.x[row];
    const QuantizedRow q = quantized ? quantize(x) : QuantizedRow{};
    for (std::int64_t o = 0; o < w.out; ++o) {
      double sum = quantized ? dot(q, w, o) : 0;
      for (std::int64_t i = 0; i < w.in && !quantized; ++i) sum += static_cast<double>(x.load(i)) * w.value(o, i);
      a.out[row].store(o, sum);
    }
  }
}

}  // namespace cachalot
