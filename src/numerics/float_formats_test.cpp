// SPDX-License-Identifier: Apache-2.0
// The small formats against values written out by the formula of each, code by code.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "numerics/f16.h"

namespace cachalot::float_formats_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float value(unsigned code) { return to_float(e4m3{static_cast<std::uint8_t>(code)}); }

TEST(E4m3, EveryCodeHasTheValueOfTheFormula) {
  for (unsigned code = 0; code < 256; ++code) {
    const int exponent = static_cast<int>(code >> 3) & 15;
    const unsigned mantissa = code & 7;
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value(code)));
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    EXPECT_EQ(value(code), static_cast<float>(code < 128 ? magnitude : -magnitude)) << code;
    EXPECT_EQ(std::signbit(value(code)), code >= 128) << code;
  }
}

TEST(E4m3, EveryValueEncodesToItsOwnCode) {
  for (unsigned code = 0; code < 256; ++code) EXPECT_EQ(to_e4m3(value(code)).code, code);
}

TEST(E4m3, RoundsToTheNearestWithTiesToTheEvenCode) {
  for (unsigned low = 0; low < 0x7E; ++low) {
    const float middle = (value(low) + value(low + 1)) / 2;
    const unsigned even = low % 2 == 0 ? low : low + 1;
    EXPECT_EQ(to_e4m3(middle).code, even) << middle;
    EXPECT_EQ(to_e4m3(-middle).code, even | 0x80) << middle;
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 0.0f)).code, low) << middle;
    EXPECT_EQ(to_e4m3(std::nextafter(middle, infinity)).code, low + 1) << middle;
  }
}

TEST(E4m3, SaturatesAt448AndKeepsNan) {
  for (const float v : {448.0f, 449.0f, 464.0f, 480.0f, 1e30f, infinity}) {
    EXPECT_EQ(to_e4m3(v).code, 0x7E) << v;
    EXPECT_EQ(to_e4m3(-v).code, 0xFE) << v;
  }
  EXPECT_EQ(to_e4m3(nan).code, 0x7F);
  EXPECT_EQ(to_e4m3(std::copysign(nan, -1.0f)).code, 0xFF);
  EXPECT_EQ(to_e4m3(1e-30f).code, 0x00);
  EXPECT_EQ(to_e4m3(-1e-30f).code, 0x80);
}

TEST(E8m0, EveryCodeIsAPowerOfTwoAndTheLastIsNan) {
  for (unsigned code = 0; code < 255; ++code) {
    EXPECT_EQ(to_float(e8m0{static_cast<std::uint8_t>(code)}), std::ldexp(1.0f, static_cast<int>(code) - 127)) << code;
  }
  EXPECT_TRUE(std::isnan(to_float(e8m0{255})));
}

TEST(E8m0, ScaleIsThePowerOfTwoAtOrAboveTheValue) {
  for (unsigned code = 1; code < 254; ++code) {
    const float power = to_float(e8m0{static_cast<std::uint8_t>(code)});
    EXPECT_EQ(ceil_e8m0(power).code, code);
    EXPECT_EQ(ceil_e8m0(std::nextafter(power, infinity)).code, code + 1);  // one bit of mantissa is enough
    EXPECT_EQ(ceil_e8m0(1.5f * power).code, code + 1);
  }
}

TEST(E2m1, EveryValueEncodesToItsOwnCode) {
  for (unsigned code = 0; code < 16; ++code) EXPECT_EQ(to_e2m1(e2m1_value[code]), code);
}

TEST(E2m1, RoundsToTheNearestWithTiesToTheEvenCodeAndSaturates) {
  for (unsigned low = 0; low < 7; ++low) {
    const float middle = (e2m1_value[low] + e2m1_value[low + 1]) / 2;
    const unsigned even = low % 2 == 0 ? low : low + 1;
    EXPECT_EQ(to_e2m1(middle), even) << middle;
    EXPECT_EQ(to_e2m1(-middle), even | 8) << middle;
    EXPECT_EQ(to_e2m1(std::nextafter(middle, 0.0f)), low) << middle;
    EXPECT_EQ(to_e2m1(std::nextafter(middle, infinity)), low + 1) << middle;
  }
  EXPECT_EQ(to_e2m1(infinity), 7u);
  EXPECT_EQ(to_e2m1(-7.5f), 15u);
  EXPECT_EQ(to_e2m1(nan), 0u);
}

TEST(E2m1, LowNibbleIsTheEvenIndex) {
  const std::uint8_t packed[] = {0x21, 0xF7};
  EXPECT_EQ(e2m1_code(packed, 0), 1u);
  EXPECT_EQ(e2m1_code(packed, 1), 2u);
  EXPECT_EQ(e2m1_code(packed, 2), 7u);
  EXPECT_EQ(e2m1_code(packed, 3), 15u);
}

TEST(F16, EveryCodeHasTheValueOfTheFormula) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float got = to_float(f16{static_cast<std::uint16_t>(bits)});
    const int exponent = static_cast<int>(bits >> 10) & 31;
    const unsigned mantissa = bits & 1023;
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      continue;
    }
    const double magnitude = exponent == 31  ? static_cast<double>(infinity)
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(got, static_cast<float>(bits < 32768 ? magnitude : -magnitude)) << bits;
    ASSERT_EQ(std::signbit(got), bits >= 32768) << bits;
  }
}

}  // namespace
}  // namespace cachalot::float_formats_test
