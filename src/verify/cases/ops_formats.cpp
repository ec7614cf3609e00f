// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "verify/cases/ops_cases.h"

namespace cachalot {
namespace {

template <class Code>
std::vector<float> all_values() {
  std::vector<float> values;
  for (int code = 0; code < 256; ++code) values.push_back(to_float(Code{static_cast<std::uint8_t>(code)}));
  return values;
}

std::vector<std::int64_t> numbers(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// The names of what the golden file holds for one stored format.
struct RoundTrip {
  RowFormat format;
  const char* codes;
  const char* scales;
  const char* values;
};
constexpr RoundTrip round_trips[] = {
    {RowFormat::e4m3_e8m0_32, "fp8_codes", "fp8_scale", "fp8_roundtrip"},
    {RowFormat::e2m1_e8m0_32, "fp4_b32_packed", "fp4_b32_scale_e8m0", "fp4_b32_roundtrip"},
    {RowFormat::e2m1_e4m3_16, "fp4_b16_packed", "fp4_b16_scale_e4m3", "fp4_b16_roundtrip"}};

Status verify_round_trip(OpsCase& c, const GoldenTensor& x, const RoundTrip& trip) {
  auto want = c.golden.read_all({{trip.codes, 'n', 2}, {trip.scales, 'n', 2}, {trip.values, 'b', 2}});
  if (!want) return tl::unexpected(want.error());
  const auto& [codes, scales, values] = *want;
  const std::int64_t rows = x.extent(0), width = x.extent(1);
  if (width % group_size(trip.format) != 0) {
    return fail(Errc::format, "{}: x has rows of {}, expected whole groups of {}", c.golden.path(), width,
                group_size(trip.format));
  }
  const std::int64_t code_width = code_bytes(trip.format, width), scale_width = scale_bytes(trip.format, width);
  for (const Status& fit :
       {c.golden.expect_shape(codes, {rows, code_width}), c.golden.expect_shape(scales, {rows, scale_width}),
        c.golden.expect_shape(values, {rows, width})}) {
    if (!fit) return fit;
  }
  std::vector<std::uint8_t> code(static_cast<std::size_t>(rows * code_width));
  std::vector<std::uint8_t> scale(static_cast<std::size_t>(rows * scale_width));
  const PackedRowsOut packed{trip.format, width, rows, code.data(), scale.data()};
  Context context;
  const View<const float, 2> in(x.values.data(), {rows, width});
  c.backend.encode_rows(context, {in, packed, {}});
  std::vector<float> decoded(x.values.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    packed.decode(row,
                  std::span(decoded).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)));
  }
  for (float& v : decoded) v = round_bf16(v);  // the golden holds bf16; every code times its scale fits
  c.report.compare_numbers(codes.name, numbers(code), codes.numbers, code_width);
  c.report.compare_numbers(scales.name, numbers(scale), scales.numbers, scale_width);
  c.report.compare(values.name, decoded, values.values, tolerances::exact);
  return {};
}

}  // namespace

Status verify_formats(OpsCase& c) {
  auto want = c.golden.read_all({{"e2m1", 'f', 1}, {"e4m3", 'f', 1}, {"e8m0", 'f', 1}});
  if (!want) return tl::unexpected(want.error());
  const auto& [fp4, fp8, scale] = *want;
  c.report.compare("e2m1", e2m1_value, fp4.values, tolerances::exact);
  c.report.compare("e4m3", all_values<e4m3>(), fp8.values, tolerances::exact);
  c.report.compare("e8m0", all_values<e8m0>(), scale.values, tolerances::exact);
  return {};
}

Status verify_quant(OpsCase& c) {
  auto x = c.golden.read({"x", 'b', 2});
  if (!x) return tl::unexpected(x.error());
  for (const RoundTrip& trip : round_trips) {
    if (Status done = verify_round_trip(c, *x, trip); !done) return done;
  }
  return {};
}

}  // namespace cachalot
