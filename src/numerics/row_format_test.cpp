// SPDX-License-Identifier: Apache-2.0
#include "numerics/row_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"

namespace cachalot::row_format_test {
namespace {

constexpr RowFormat every_format[] = {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16,
                                      RowFormat::e2m1_e8m0_32};
constexpr RowFormat quantized[] = {RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16, RowFormat::e2m1_e8m0_32};

struct Encoded {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> values;  // decoded again
};

Encoded round_trip(RowFormat f, const std::vector<float>& row) {
  const auto width = static_cast<std::int64_t>(row.size());
  Encoded e{std::vector<std::uint8_t>(static_cast<std::size_t>(code_bytes(f, width))),
            std::vector<std::uint8_t>(static_cast<std::size_t>(scale_bytes(f, width))), std::vector<float>(row.size())};
  encode_row(f, row, e.codes.data(), e.scales.data());
  decode_row(f, e.codes.data(), e.scales.data(), e.values);
  return e;
}

float scale_of(RowFormat f, std::uint8_t code) {
  return f == RowFormat::e2m1_e4m3_16 ? to_float(e4m3{code}) : to_float(e8m0{code});
}

// The scale by its definition, from the logarithm instead of the exponent bits.
float expected_scale(RowFormat f, float largest) {
  if (f == RowFormat::e2m1_e4m3_16) return to_float(to_e4m3(std::max(largest, 6 * 0x1p-9f) / 6));
  const float v = f == RowFormat::e4m3_e8m0_32 ? std::max(largest, 1e-4f) * (1.0f / 448)
                                               : std::max(largest, 6 * 0x1p-126f) * (1.0f / 6);
  int exponent = 0;
  const float mantissa = std::frexp(v, &exponent);  // v = mantissa · 2^exponent, mantissa in [1/2, 1)
  return std::ldexp(1.0f, mantissa == 0.5f ? exponent - 1 : exponent);
}

// The nearest value a code of the format can have, the even code on a tie, by looking at all of them.
float nearest(RowFormat f, float x) {
  const unsigned codes = f == RowFormat::e4m3_e8m0_32 ? 127 : 8;
  const auto value = [&](unsigned c) {
    return f == RowFormat::e4m3_e8m0_32 ? to_float(e4m3{static_cast<std::uint8_t>(c)}) : e2m1_value[c];
  };
  const double magnitude = std::min(std::abs(x), value(codes - 1));
  unsigned best = 0;
  for (unsigned c = 1; c < codes; ++c) {
    const double better = std::abs(magnitude - value(best)) - std::abs(magnitude - value(c));
    if (better > 0 || (better == 0 && c % 2 == 0)) best = c;
  }
  return std::copysign(value(best), x);
}

TEST(RowFormat, BytesOfARowAreCodesAndScales) {
  EXPECT_EQ(code_bytes(RowFormat::e4m3_e8m0_32, 512) + scale_bytes(RowFormat::e4m3_e8m0_32, 512), 528);
  EXPECT_EQ(code_bytes(RowFormat::e2m1_e4m3_16, 512) + scale_bytes(RowFormat::e2m1_e4m3_16, 512), 288);
  EXPECT_EQ(code_bytes(RowFormat::e2m1_e8m0_32, 128), 64);
  EXPECT_EQ(scale_bytes(RowFormat::e2m1_e8m0_32, 128), 4);
  EXPECT_EQ(code_bytes(RowFormat::f32, 7) + scale_bytes(RowFormat::f32, 7), 28);
  EXPECT_EQ(code_bytes(RowFormat::bf16, 7) + scale_bytes(RowFormat::bf16, 7), 14);
}

// Each finite bf16 is the largest of its group, with fractions of itself as company.
TEST(RowFormat, EveryFiniteBf16GetsTheScaleAndTheNearestCodeOfTheDefinition) {
  for (const RowFormat f : quantized) {
    std::vector<float> group(static_cast<std::size_t>(group_size(f)));
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const float v = to_float(bf16{static_cast<std::uint16_t>(bits)});
      if (!std::isfinite(v)) continue;
      for (std::size_t i = 0; i < group.size(); ++i) group[i] = v * (1.0f - static_cast<float>(i) / 16 * 0.53f);
      const Encoded e = round_trip(f, group);
      const float scale = scale_of(f, e.scales[0]);
      ASSERT_EQ(scale, expected_scale(f, std::abs(v))) << name(f) << " " << v;
      for (std::size_t i = 0; i < group.size(); i += 5) {
        ASSERT_EQ(e.values[i], nearest(f, group[i] / scale) * scale) << name(f) << " " << v << " " << i;
      }
    }
  }
}

// Not at the ends: the largest numbers round up to infinity, and e4m3 scales are too coarse below 2^-6.
TEST(RowFormat, RoundTripOfARoundTripChangesNothing) {
  for (const RowFormat f : quantized) {
    std::vector<float> group(static_cast<std::size_t>(group_size(f)));
    for (unsigned bits = 0; bits < 0x7F80; bits += 3) {
      const float v = to_float(bf16{static_cast<std::uint16_t>(bits)});
      if (v >= 0x1p127f || (f == RowFormat::e2m1_e4m3_16 && v < 6 * 0x1p-6f)) continue;
      for (std::size_t i = 0; i < group.size(); ++i) group[i] = (i % 2 == 0 ? v : -v) / static_cast<float>(i + 1);
      const Encoded once = round_trip(f, group);
      ASSERT_EQ(round_trip(f, once.values).values, once.values) << name(f) << " " << v;
    }
  }
}

TEST(RowFormat, TiesGoToTheEvenCode) {
  std::vector<float> row(32, 0.0f);
  row[0] = 448;  // scale 1
  row[1] = 17;   // between 16 and 18
  row[2] = 19;   // between 18 and 20
  row[3] = -17;
  const Encoded fp8 = round_trip(RowFormat::e4m3_e8m0_32, row);
  EXPECT_EQ(fp8.scales[0], 127);
  EXPECT_EQ(fp8.values[1], 16);
  EXPECT_EQ(fp8.values[2], 20);
  EXPECT_EQ(fp8.values[3], -16);
  const float halves[] = {6, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
  const float even[] = {6, 0, 1, 1, 2, 2, 4, 4};
  for (const RowFormat f : {RowFormat::e2m1_e8m0_32, RowFormat::e2m1_e4m3_16}) {
    row.assign(32, 6.0f);  // scale 1 in both
    std::ranges::copy(halves, row.begin());
    const Encoded fp4 = round_trip(f, row);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(fp4.values[i], even[i]) << name(f) << " " << halves[i];
  }
}

TEST(RowFormat, ScaleIsRoundedUpSoThatNothingIsCutOff) {
  std::vector<float> row(32, 0.0f);
  row[0] = 449;
  EXPECT_EQ(round_trip(RowFormat::e4m3_e8m0_32, row).values[0], 448);  // 449 / 2 in e4m3 is 224
  EXPECT_EQ(round_trip(RowFormat::e4m3_e8m0_32, row).scales[0], 128);
  row[0] = 6.5f;
  EXPECT_EQ(round_trip(RowFormat::e2m1_e8m0_32, row).scales[0], 128);
  EXPECT_EQ(round_trip(RowFormat::e2m1_e8m0_32, row).values[0], 6);  // 3.25 goes to 3
}

TEST(RowFormat, ScaleOfZerosIsTheSmallestOne) {
  const std::vector<float> zeros(32, 0.0f);
  EXPECT_EQ(round_trip(RowFormat::e4m3_e8m0_32, zeros).scales[0], 127 - 22);  // 1e-4 / 448 is a little above 2^-23
  EXPECT_EQ(round_trip(RowFormat::e2m1_e8m0_32, zeros).scales[0], 1);         // 2^-126
  EXPECT_EQ(round_trip(RowFormat::e2m1_e4m3_16, zeros).scales[0], 1);         // 2^-9
  for (const RowFormat f : quantized) EXPECT_EQ(round_trip(f, zeros).values, zeros) << name(f);
}

TEST(RowFormat, E4m3ScaleSaturates) {
  std::vector<float> row(16, 1.0f);
  row[3] = -1e30f;
  const Encoded e = round_trip(RowFormat::e2m1_e4m3_16, row);
  EXPECT_EQ(e.scales[0], 0x7E);
  EXPECT_EQ(e.values[3], -2688);
  EXPECT_EQ(e.values[0], 0);
}

TEST(RowFormat, NanStaysNanInFp8AndLeavesItsNeighboursAlone) {
  std::vector<float> row(32, 1.0f);
  row[5] = std::numeric_limits<float>::quiet_NaN();
  const Encoded e = round_trip(RowFormat::e4m3_e8m0_32, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i == 5) {
      EXPECT_TRUE(std::isnan(e.values[i]));
    } else {
      EXPECT_EQ(e.values[i], 1);
    }
  }
}

TEST(RowFormat, LowNibbleHoldsTheEvenIndex) {
  std::vector<float> row(32, 0.0f);
  row[0] = 6;
  row[1] = -1;
  for (const RowFormat f : {RowFormat::e2m1_e8m0_32, RowFormat::e2m1_e4m3_16}) {
    EXPECT_EQ(round_trip(f, row).codes[0], 0xA7) << name(f);  // code 7 low, code 10 high
  }
}

TEST(RowFormat, GroupsOfARowDoNotTouchEachOther) {
  for (const RowFormat f : every_format) {
    const auto group = static_cast<std::size_t>(group_size(f));
    for (const std::size_t groups : {0u, 1u, 2u, 3u, 32u}) {
      std::vector<float> row(group * groups);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) *
                 std::ldexp(1.0f, static_cast<int>(i / group % 7) - 3);
      }
      const Encoded whole = round_trip(f, row);
      for (std::size_t g = 0; g < groups; ++g) {
        const auto first = row.begin() + static_cast<std::ptrdiff_t>(g * group);
        const Encoded alone = round_trip(f, std::vector<float>(first, first + static_cast<std::ptrdiff_t>(group)));
        const auto at = whole.values.begin() + static_cast<std::ptrdiff_t>(g * group);
        EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(), at)) << name(f) << " group " << g;
      }
    }
  }
}

TEST(RowFormat, PlainFormatsKeepWhatTheyCanHold) {
  const std::vector<float> row = {1.5f, -0.0f, 3e38f, 1.00390625f, 1e-40f};
  EXPECT_EQ(round_trip(RowFormat::f32, row).values, row);
  const std::vector<float> bf16_row = round_trip(RowFormat::bf16, row).values;
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(bf16_row[i], round_bf16(row[i]));
}

}  // namespace
}  // namespace cachalot::row_format_test
