// SPDX-License-Identifier: Apache-2.0
#include "ops/rope/rope.h"

#include <gtest/gtest.h>

#include <bit>
#include <complex>

#include "ops/test_numbers.h"

namespace cachalot {
namespace {

constexpr RopeScaling plain{.base = 10000};
constexpr RopeScaling yarn{.base = 160000, .factor = 16, .original = 65536, .beta_fast = 32, .beta_slow = 1};

// 1 / base^(2i/64) in f32, the power correctly rounded; computed with 60 decimal digits.
constexpr std::uint32_t plain_bits[32] = {
    0x3f800000, 0x3f3ff911, 0x3f0ff59a, 0x3ed7e89b, 0x3ea1e89b, 0x3e72d423, 0x3e361887, 0x3e088d77,
    0x3dcccccd, 0x3d99940d, 0x3d6655c2, 0x3d2cba15, 0x3d0186e3, 0x3cc2434f, 0x3c91ad39, 0x3c5a7bf2,
    0x3c23d70a, 0x3bf5b9b0, 0x3bb8449c, 0x3b8a2e77, 0x3b4f3e38, 0x3b1b690d, 0x3ae91528, 0x3aaec98e,
    0x3a83126f, 0x3a44948c, 0x3a136a16, 0x39dd1725, 0x39a5cb60, 0x3978a815, 0x393a7753, 0x390bd472};
constexpr std::uint32_t compressed_bits[32] = {
    0x3f800000, 0x3f300a3a, 0x3ef21c1f, 0x3ea67d01, 0x3e64f92e, 0x3e1d7475, 0x3dd88cb4, 0x3d94e963,
    0x3d4ccccd, 0x3d0cd4fb, 0x3cc1b019, 0x3c8530ce, 0x3c372dbf, 0x3bfbed88, 0x3bad3d5e, 0x3b6e4237,
    0x3b23d70a, 0x3ae154c5, 0x3a9af347, 0x3a551ae3, 0x3a128aff, 0x39c98ad3, 0x398a977e, 0x393e9b60,
    0x3903126f, 0x38b443d0, 0x3877eba6, 0x382a7be8, 0x37ea77ff, 0x37a13bdc, 0x375dbf30, 0x37187c4d};

TEST(Rope, FrequenciesHaveTheBitsOfTheExactPower) {
  const auto f = rope_frequencies(64, plain);
  const auto c = rope_frequencies(64, {.base = 160000});
  ASSERT_EQ(f.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(f[i]), plain_bits[i]) << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(c[i]), compressed_bits[i]) << i;
  }
}

// Turns within 65536 positions: pair i turns 65536 f_i / 2π times. corrected(32) = 15.5…, corrected(1) = 24.7….
TEST(Rope, YarnLeavesFastPairsAndSlowsSlowOnesByTheFactorWithARampBetween) {
  const auto c = rope_frequencies(64, {.base = 160000});
  const auto y = rope_frequencies(64, yarn);
  constexpr std::size_t low = 15;
  constexpr std::size_t high = 25;
  for (std::size_t i = 0; i <= low; ++i) EXPECT_EQ(y[i], c[i]) << i;
  for (std::size_t i = high; i < 32; ++i) EXPECT_EQ(y[i], c[i] / 16) << i;
  for (std::size_t i = low + 1; i < high; ++i) {
    const double ramp = static_cast<double>(i - low) / (high - low);
    EXPECT_NEAR(y[i], c[i] / 16.0 * ramp + c[i] * (1 - ramp), 2e-7 * c[i]) << i;
    EXPECT_LT(y[i], c[i]) << i;
    EXPECT_GT(y[i], c[i] / 16) << i;
  }
}

TEST(Rope, AngleIsTheF32ProductUpToTheLastPosition) {
  for (const std::int64_t p : {0, 1, 127, 65535, 1'048'575}) {
    for (const float f : rope_frequencies(64, plain)) {
      const auto angle = static_cast<double>(static_cast<float>(p) * f);
      EXPECT_NEAR(rotation(p, f).cos, std::cos(angle), 6e-8);
      EXPECT_NEAR(rotation(p, f).sin, std::sin(angle), 6e-8);
    }
  }
}

Tensor<3> run(Tensor<3> x, Array<std::int64_t, 1> position, Array<float, 1> frequency, bool inverse = false) {
  Context context;
  rope_ref(context, {x, position, frequency, inverse});
  return x;
}

Array<float, 1> frequencies(std::int64_t rope_dim) {
  Array<float, 1> a({rope_dim / 2});
  a.at = rope_frequencies(rope_dim, plain);
  return a;
}

Array<std::int64_t, 1> positions(std::vector<std::int64_t> p) {
  Array<std::int64_t, 1> a({static_cast<std::int64_t>(p.size())});
  a.at = std::move(p);
  return a;
}

// A quarter turn: (1, 2) becomes (-2, 1), and back.
TEST(Rope, NeighboursTurnAsOneComplexNumber) {
  Tensor<3> x(DType::f32, {1, 1, 6});
  for (std::int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  Array<float, 1> quarter({2}, static_cast<float>(std::acos(-1.0) / 2));
  const Tensor<3> y = run(x, positions({1}), quarter);
  const float want[] = {0, 1, -3, 2, -5, 4};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(y.get(i), want[i], 1e-6) << i;
  const Tensor<3> back = run(y, positions({1}), quarter, true);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(back.get(i), static_cast<double>(i), 1e-6) << i;
}

TEST(Rope, LastPairsOfEachHeadTurnByTheirAngleAndTheRestIsUntouched) {
  Random random(1);
  Tensor<3> x(DType::f32, {3, 2, 96}, random);
  const auto f = frequencies(64);
  const auto p = positions({0, 7, 1'048'575});
  for (const bool inverse : {false, true}) {
    const Tensor<3> y = run(x, p, f, inverse);
    for (std::int64_t at = 0; at < 6 * 96; at += 2) {
      const std::int64_t in_head = at % 96;
      std::complex<double> want(x.get(at), x.get(at + 1));
      if (in_head >= 32) {
        const double angle = static_cast<float>(p.at[static_cast<std::size_t>(at / 192)]) *
                             f.at[static_cast<std::size_t>((in_head - 32) / 2)];
        want *= std::polar(1.0, inverse ? -angle : angle);
      }
      ASSERT_NEAR(y.get(at), want.real(), 2e-7) << at;
      ASSERT_NEAR(y.get(at + 1), want.imag(), 2e-7) << at;
    }
  }
}

TEST(Rope, PositionZeroChangesNothing) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {1, 2, 64}, random);
    EXPECT_EQ(run(x, positions({0}), frequencies(64)).bytes, x.bytes);
  }
}

// q · k after rotation depends on the distance alone.
TEST(Rope, DotProductDependsOnTheDistanceOfPositions) {
  Random random(3);
  const Tensor<3> q(DType::f32, {1, 1, 64}, random);
  const Tensor<3> k(DType::f32, {1, 1, 64}, random);
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    const Tensor<3> x = run(q, positions({a}), frequencies(64));
    const Tensor<3> y = run(k, positions({b}), frequencies(64));
    double sum = 0;
    for (std::int64_t i = 0; i < 64; ++i) sum += static_cast<double>(x.get(i)) * y.get(i);
    return sum;
  };
  EXPECT_NEAR(dot(5, 2), dot(105, 102), 1e-4);
  EXPECT_GT(std::abs(dot(5, 2) - dot(5, 3)), 1e-2);
}

TEST(Rope, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {4, 64, 512}, random);
    const std::vector<std::int64_t> p = {0, 1, 4095, 1'048'575};
    const Tensor<3> all = run(x, positions(p), frequencies(64));
    for (std::int64_t row = 0; row < 4; ++row) {
      Tensor<3> one(type, {1, 64, 512});
      one.bytes = x.row_bytes(row);
      EXPECT_EQ(run(one, positions({p[static_cast<std::size_t>(row)]}), frequencies(64)).bytes, all.row_bytes(row));
    }
  }
}

}  // namespace
}  // namespace cachalot
