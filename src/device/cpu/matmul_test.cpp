// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "device/cpu/rows.h"
#include "device/cpu/simd_level.h"
#include "numerics/row_format.h"

namespace cachalot::matmul_test {
namespace {

// A weight of any format with random codes and its memory.
struct RandomWeight {
  RandomWeight(WeightFormat format, std::int64_t out, std::int64_t in, std::uint32_t seed) : random(seed) {
    weight = {format, out, in, nullptr, nullptr};
    const auto n = static_cast<std::size_t>(out * in);
    switch (format) {
      case WeightFormat::f32:
        fill_numbers<float>(n, [](float v) { return v; });
        break;
      case WeightFormat::bf16:
        fill_numbers<bf16>(n, [](float v) { return to_bf16(v); });
        break;
      case WeightFormat::f16:
        fill_numbers<f16>(n, [this](float) { return f16{static_cast<std::uint16_t>(0x3000 + random() % 0x0C00)}; });
        break;
      case WeightFormat::e4m3_block32:
        fill_codes(n, [this] { return static_cast<std::uint8_t>(random() % 127 + random() % 2 * 128); });
        break;
      case WeightFormat::e2m1_row32:
        fill_codes(n / 2, [this] { return static_cast<std::uint8_t>(random() % 256); });
        break;
    }
    if (weight.quantized()) {
      const std::int64_t rows = format == WeightFormat::e4m3_block32 ? (out + 31) / 32 : out;
      for (std::int64_t i = 0; i < rows * weight.scale_columns(); ++i)
        scale.push_back(static_cast<std::uint8_t>(110 + random() % 12));
      weight.scale = scale.data();
    }
  }
  template <class T, class F>
  void fill_numbers(std::size_t n, F convert) {
    std::normal_distribution<float> normal;
    bytes.resize(n * sizeof(T));
    for (std::size_t i = 0; i < n; ++i) {
      const T v = convert(normal(random));
      std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
    }
    weight.data = bytes.data();
  }
  template <class F>
  void fill_codes(std::size_t n, F code) {
    for (std::size_t i = 0; i < n; ++i) bytes.push_back(code());
    weight.data = bytes.data();
  }

  std::mt19937 random;
  Weight weight;
  std::vector<std::uint8_t> bytes, scale;
};

constexpr WeightFormat formats[] = {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16,
                                    WeightFormat::e4m3_block32, WeightFormat::e2m1_row32};

std::vector<float> numbers(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = normal(random);
  return v;
}

std::vector<float> product(int threads, const std::vector<float>& x, std::int64_t rows, const Weight& w) {
  ThreadPool pool(threads);
  Arena arena;
  const auto in = load_rows(pool, arena, ConstValues<2>(x.data(), DType::f32, {rows, w.in}));
  std::vector<float> y(static_cast<std::size_t>(rows * w.out), NAN);
  matmul(
      pool, arena,
      {row_pointers(arena, View<const float, 2>(in)), w, row_pointers(arena, View<float, 2>(y.data(), {rows, w.out}))});
  return y;
}

TEST(Matmul, IsTheProductForEveryFormatAndShape) {
  for (const WeightFormat f : formats) {
    for (const std::int64_t in : {2, 14, 16, 18, 32, 64, 96, 254, 256, 258, 288, 640}) {
      for (const std::int64_t out : {1, 3, 4, 5, 33, 70}) {
        const RandomWeight w(f, out, in, static_cast<std::uint32_t>(in * 100 + out));
        for (const std::int64_t rows : {1, 2, 3, 4, 7}) {
          const auto x = numbers(rows * in, 7);
          const auto y = product(1, x, rows, w.weight);
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t o = 0; o < out; ++o) {
              double want = 0, size = 0;
              for (std::int64_t k = 0; k < in; ++k) {
                const double p = static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) * w.weight.value(o, k);
                want += p;
                size += std::abs(p);
              }
              ASSERT_NEAR(y[static_cast<std::size_t>(r * out + o)], want, 1e-6 * size + 1e-30)
                  << in << " x " << out << ", row " << r << ", out " << o;
            }
          }
        }
      }
    }
  }
}

TEST(Matmul, ARowHasTheSameBitsAloneAmongOthersAndOnAnyNumberOfThreads) {
  for (const WeightFormat f : formats) {
    const RandomWeight w(f, 77, 544, 3);
    const auto x = numbers(8 * 544, 9);
    const auto all = product(1, x, 8, w.weight);
    for (const int threads : {1, 2, 4}) {
      EXPECT_EQ(product(threads, x, 8, w.weight), all);
      for (std::size_t r = 0; r < 8; ++r) {
        const std::vector<float> alone(x.begin() + static_cast<std::ptrdiff_t>(r * 544),
                                       x.begin() + static_cast<std::ptrdiff_t>((r + 1) * 544));
        const std::vector<float> want(all.begin() + static_cast<std::ptrdiff_t>(r * 77),
                                      all.begin() + static_cast<std::ptrdiff_t>((r + 1) * 77));
        EXPECT_EQ(product(threads, alone, 1, w.weight), want);
      }
    }
  }
}

// Calls `test` at every SIMD level of this machine.
template <class Test>
void at_every_level(Test test) {
  const SimdLevel best = simd_level();
  for (const SimdLevel& level : simd_levels()) {
    SCOPED_TRACE(level.name);
    force_simd_level(level);
    test();
  }
  force_simd_level(best);
}

void expect_every_code_decoded() {
  // x picks one value of k, so that the output is the decoded weight itself.
  for (const WeightFormat f : {WeightFormat::e4m3_block32, WeightFormat::e2m1_row32}) {
    const std::int64_t in = f == WeightFormat::e4m3_block32 ? 256 : 32;
    std::vector<std::uint8_t> codes;
    for (int i = 0; i < 256; ++i) codes.push_back(static_cast<std::uint8_t>(i));
    if (f == WeightFormat::e4m3_block32) codes[0x7F] = codes[0xFF] = 0;  // NaN would make all outputs NaN
    for (const int scale : {0, 1, 9, 100, 127, 130, 245, 246, 247, 254}) {
      if (scale > 246) {  // larger codes would be infinite, and infinity times the zeros of x is NaN
        for (std::uint8_t& code : codes)
          code = static_cast<std::uint8_t>(code & (f == WeightFormat::e4m3_block32 ? 0x87 : 0x11));
      }
      std::vector<std::uint8_t> scales(16 * 8, static_cast<std::uint8_t>(scale));
      const Weight w{f, f == WeightFormat::e4m3_block32 ? 1 : 16, in, codes.data(), scales.data()};
      for (std::int64_t k = 0; k < in; ++k) {
        std::vector<float> x(static_cast<std::size_t>(in));
        x[static_cast<std::size_t>(k)] = 1;
        const auto y = product(1, x, 1, w);
        for (std::int64_t o = 0; o < w.out; ++o) EXPECT_EQ(y[static_cast<std::size_t>(o)], w.value(o, k) + 0.0f);
      }
    }
  }
}

TEST(Matmul, DecodesEveryCodeOfEveryFormatExactly) { at_every_level(expect_every_code_decoded); }

void expect_nans_at_their_outputs() {
  constexpr std::int64_t in = 160, out = 40, at = 33;
  for (const std::int64_t rows : {1, 8}) {
    const auto x = numbers(rows * in, 13);
    const auto nans = [&](const Weight& w) {
      std::vector<std::int64_t> found;
      const auto y = product(1, x, rows, w);
      for (std::int64_t o = 0; o < out; ++o) {
        const auto is_nan = [&](std::int64_t r) { return std::isnan(y[static_cast<std::size_t>(r * out + o)]); };
        if (is_nan(0)) found.push_back(o);
        for (std::int64_t r = 1; r < rows; ++r) EXPECT_EQ(is_nan(r), is_nan(0));
      }
      return found;
    };
    for (const std::int64_t k : {0, 1, 15, 16, 31, 32, 159}) {
      for (const int nan : {0x7F, 0xFF}) {
        RandomWeight w(WeightFormat::e4m3_block32, out, in, 14);
        w.bytes[static_cast<std::size_t>(at * in + k)] = static_cast<std::uint8_t>(nan);
        EXPECT_EQ(nans(w.weight), std::vector<std::int64_t>{at}) << k;
      }
      RandomWeight fp8(WeightFormat::e4m3_block32, out, in, 14), fp4(WeightFormat::e2m1_row32, out, in, 14);
      fp8.scale[static_cast<std::size_t>(1 * in / 32 + k / 32)] = 0xFF;
      EXPECT_EQ(nans(fp8.weight), (std::vector<std::int64_t>{32, 33, 34, 35, 36, 37, 38, 39})) << k;
      fp4.scale[static_cast<std::size_t>(at * in / 32 + k / 32)] = 0xFF;
      EXPECT_EQ(nans(fp4.weight), std::vector<std::int64_t>{at}) << k;
    }
  }
}

TEST(Matmul, ANanAmongTheCodesOrScalesOfAWeightReachesItsOutputs) { at_every_level(expect_nans_at_their_outputs); }

TEST(LoadRows, RoundTripIsExactlyThatOfTheCodec) {
  ThreadPool pool(2);
  for (const float size : {0.0f, 1e-6f, 1e-3f, 1.0f, 300.0f, 1e5f}) {
    auto x = numbers(5 * 96, 11);
    for (float& v : x) v *= size;
    x[3] = -0.0f;
    Arena arena;
    const auto got = load_rows(pool, arena, ConstValues<2>(x.data(), DType::f32, {5, 96}), RoundTrip::fp8);
    std::vector<std::uint8_t> codes(96), scales(3);
    std::vector<float> want(96);
    for (std::int64_t r = 0; r < 5; ++r) {
      encode_row(RowFormat::e4m3_e8m0_32, std::span(x).subspan(static_cast<std::size_t>(r * 96), 96), codes.data(),
                 scales.data());
      decode_row(RowFormat::e4m3_e8m0_32, codes.data(), scales.data(), want);
      for (std::int64_t i = 0; i < 96; ++i)
        ASSERT_EQ(got[r][i], want[static_cast<std::size_t>(i)]) << size << " row " << r << " value " << i;
    }
  }
}

TEST(LoadRows, EveryBf16ValueThroughEveryBinadeOfItsGroupIsThatOfTheCodec) {
  ThreadPool pool(1);
  std::vector<std::uint8_t> codes(32), scales(1);
  std::vector<float> want(32);
  for (std::uint32_t bits = 0; bits < 0x7F80; bits += 31) {
    std::vector<float> x(32);
    for (std::uint32_t i = 0; i < 32; ++i)
      x[i] = to_float(bf16{static_cast<std::uint16_t>((bits + i) | (i % 2 << 15))});
    if (bits + 31 >= 0x7F80) break;
    Arena arena;
    const auto got = load_rows(pool, arena, ConstValues<2>(x.data(), DType::f32, {1, 32}), RoundTrip::fp8);
    encode_row(RowFormat::e4m3_e8m0_32, x, codes.data(), scales.data());
    decode_row(RowFormat::e4m3_e8m0_32, codes.data(), scales.data(), want);
    for (std::int64_t i = 0; i < 32; ++i)
      ASSERT_EQ(got[0][i], want[static_cast<std::size_t>(i)]) << "bf16 " << bits + static_cast<std::uint32_t>(i);
  }
}

TEST(StoreRows, RoundsAsTheScalarConversionDoes) {
  ThreadPool pool(2);
  auto x = numbers(3 * 37, 5);
  x[0] = NAN;
  x[1] = INFINITY;
  x[2] = 1.00390625f;  // a tie, to even
  x[3] = 1.01171875f;
  x[4] = 3.4e38f;
  std::vector<bf16> y(x.size());
  store_rows(pool, View<const float, 2>(x.data(), {3, 37}), Values<2>(y.data(), DType::bf16, {3, 37}));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], to_bf16(x[i])) << i;
}

}  // namespace
}  // namespace cachalot::matmul_test
