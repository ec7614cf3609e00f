// SPDX-License-Identifier: Apache-2.0
#include "ops/rope/rope.h"

#include <bit>
#include <complex>

#include "ops/test_backends.h"

namespace cachalot::rope_test {
namespace {

using Rope = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Rope, each_backend(), place_name);

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

TEST_P(Rope, FrequenciesHaveTheBitsOfTheExactPower) {
  const auto f = rope_frequencies(64, plain);
  const auto c = rope_frequencies(64, {.base = 160000});
  ASSERT_EQ(f.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(f[i]), plain_bits[i]) << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(c[i]), compressed_bits[i]) << i;
  }
}

// Turns within 65536 positions: pair i turns 65536 f_i / 2π times. corrected(32) = 15.5…, corrected(1) = 24.7….
TEST_P(Rope, YarnLeavesFastPairsAndSlowsSlowOnesByTheFactorWithARampBetween) {
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

TEST_P(Rope, AngleIsTheF32ProductUpToTheLastPosition) {
  for (const std::int64_t p : {0, 1, 127, 65535, 1'048'575}) {
    for (const float f : rope_frequencies(64, plain)) {
      const auto angle = static_cast<double>(static_cast<float>(p) * f);
      EXPECT_NEAR(rotation(p, f).cos, std::cos(angle), 6e-8);
      EXPECT_NEAR(rotation(p, f).sin, std::sin(angle), 6e-8);
    }
  }
}

Tensor<3> run(const On& on, Tensor<3> x, Array<std::int64_t, 1> position, Array<float, 1> frequency,
              bool inverse = false) {
  on(&Backend::rope, {x, position, frequency, inverse});
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
TEST_P(Rope, NeighboursTurnAsOneComplexNumber) {
  Tensor<3> x(DType::f32, {1, 1, 6});
  for (std::int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  Array<float, 1> quarter({2}, static_cast<float>(std::acos(-1.0) / 2));
  const Tensor<3> y = run(on, x, positions({1}), quarter);
  const float want[] = {0, 1, -3, 2, -5, 4};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(y.get(i), want[i], 1e-6) << i;
  const Tensor<3> back = run(on, y, positions({1}), quarter, true);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(back.get(i), static_cast<double>(i), 1e-6) << i;
}

TEST_P(Rope, LastPairsOfEachHeadTurnByTheirAngleAndTheRestIsUntouched) {
  Random random(1);
  Tensor<3> x(DType::f32, {3, 2, 96}, random);
  const auto f = frequencies(64);
  const auto p = positions({0, 7, 1'048'575});
  for (const bool inverse : {false, true}) {
    const Tensor<3> y = run(on, x, p, f, inverse);
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

TEST_P(Rope, PositionZeroChangesNothing) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {1, 2, 64}, random);
    EXPECT_EQ(run(on, x, positions({0}), frequencies(64)).bytes, x.bytes);
  }
}

// q · k after rotation depends on the distance alone.
TEST_P(Rope, DotProductDependsOnTheDistanceOfPositions) {
  Random random(3);
  const Tensor<3> q(DType::f32, {1, 1, 64}, random);
  const Tensor<3> k(DType::f32, {1, 1, 64}, random);
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    const Tensor<3> x = run(on, q, positions({a}), frequencies(64));
    const Tensor<3> y = run(on, k, positions({b}), frequencies(64));
    double sum = 0;
    for (std::int64_t i = 0; i < 64; ++i) sum += static_cast<double>(x.get(i)) * y.get(i);
    return sum;
  };
  EXPECT_NEAR(dot(5, 2), dot(105, 102), 1e-4);
  EXPECT_GT(std::abs(dot(5, 2) - dot(5, 3)), 1e-2);
}

TEST_P(Rope, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {4, 64, 512}, random);
    const std::vector<std::int64_t> p = {0, 1, 4095, 1'048'575};
    const Tensor<3> all = run(on, x, positions(p), frequencies(64));
    for (std::int64_t row = 0; row < 4; ++row) {
      Tensor<3> one(type, {1, 64, 512});
      one.bytes = x.row_bytes(row);
      EXPECT_EQ(run(on, one, positions({p[static_cast<std::size_t>(row)]}), frequencies(64)).bytes, all.row_bytes(row));
    }
  }
}

constexpr std::int64_t at[] = {0, 1, 127, 65535, 1'048'575};

std::vector<float> turned(const On& on, Tensor<3> x, std::int64_t rope_dim, bool inverse) {
  Array<std::int64_t, 1> position({x.shape[0]});
  for (std::size_t r = 0; r < position.at.size(); ++r) position.at[r] = at[r % 5] + static_cast<std::int64_t>(r) / 5;
  Array<float, 1> frequency({rope_dim / 2});
  frequency.at =
      rope_frequencies(rope_dim, {.base = 160000, .factor = 16, .original = 65536, .beta_fast = 32, .beta_slow = 1});
  on(&Backend::rope, {x, position, frequency, inverse});
  return floats(x);
}

TEST(RopeAgreement, AtEveryShapeAndBothWays) {
  struct Shape {
    std::int64_t rows, heads, head_dim, rope_dim;
  };
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const Shape s :
         {Shape{0, 2, 64, 64}, Shape{1, 64, 512, 64}, Shape{10, 1, 512, 64}, Shape{7, 32, 128, 64}, Shape{5, 3, 7, 2},
          Shape{5, 2, 96, 62}, Shape{5, 2, 40, 34}, Shape{6, 1, 30, 30}, Shape{2, 2, 4, 0}}) {
      Tensor<3> x(type, {s.rows, s.heads, s.head_dim}, random, 4);
      for (const bool inverse : {false, true}) {
        agreement.add([&](const On& on) { return turned(on, x, s.rope_dim, inverse); });
      }
    }
    EXPECT_EQ(agreement.unequal, 0) << agreement;
  }
}

TEST_P(Rope, RowsOfAViewAreTheSameAlone) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {9, 3, 96}, random);
    Array<std::int64_t, 1> position({9});
    for (std::int64_t& p : position.at) p = random.below(1'000'000);
    Array<float, 1> frequency({21}, 0.3f);
    EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
      Tensor<3> y = x;
      on.with_threads(2)(&Backend::rope, {y.values().part(first, n), position.view().part(first, n), frequency});
      const auto all = floats(y);
      return std::vector<float>(all.begin() + first * 288, all.begin() + (first + n) * 288);
    }));
  }
}

// bf16 pairs of an odd address, and a view with gaps: what lies between is not touched.
TEST_P(Rope, TurnsOnlyTheLastPairsOfEachHead) {
  Random random(3);
  for (const DType type : {DType::bf16, DType::f32}) {
    const Tensor<3> x(type, {1, 2, 77}, random);
    const auto y = turned(on, x, 20, false);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (i % 77 < 57) {
        EXPECT_EQ(y[static_cast<std::size_t>(i)], x.get(i)) << i;
      }
    }
  }
}

TEST_P(Rope, NanStaysInItsPair) {
  Random random(4);
  for (const DType type : {DType::bf16, DType::f32}) {
    Tensor<3> x(type, {2, 2, 64}, random);  // row 1 is at position 1
    x.set(128 + 11, std::nan(""));
    const auto y = turned(on, x, 64, false);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 2 == (128 + 11) / 2) << i;
  }
}

}  // namespace
}  // namespace cachalot::rope_test
