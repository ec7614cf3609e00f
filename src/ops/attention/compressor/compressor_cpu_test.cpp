// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attention/compressor/compressor.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

// Tokens of all groups one after another.
struct Tokens {
  std::int64_t groups, ratio, dim;
  std::vector<float> kv, score;

  Tokens(std::int64_t g, std::int64_t r, std::int64_t d, Random& random, float spread)
      : groups(g),
        ratio(r),
        dim(d),
        kv(random_floats(g * r * d, random)),
        score(random_floats(g * r * d, random, spread)) {}

  template <class Operator>
  std::vector<float> pool(Operator op, Context& context, DType type, std::int64_t first, std::int64_t n) const {
    Array<std::int32_t, 2> token({n, ratio});
    for (std::int64_t i = 0; i < n * ratio; ++i) {
      token.at[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first * ratio + i);
    }
    const StoredInputs inputs(kv, score, dim);
    Tensor<2> out(type, {n, dim});
    op(context, {inputs.own(), inputs.kept(), token, out});
    return floats(out);
  }
};

TEST(CompressorCpu, AgreesWithTheReferenceAtEveryRatioAndWidth) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const std::int64_t ratio : {1, 2, 3, 4, 5, 128}) {
      for (const std::int64_t dim : {1, 3, 8, 15, 16, 17, 31, 96, 512}) {
        for (const float spread : {0.1f, 4.0f, 60.0f}) {
          const Tokens t(3, ratio, dim, random, spread);
          agreement.add(compressor_ref, compressor_cpu,
                        [&](auto op, Context& context) { return t.pool(op, context, type, 0, 3); });
        }
      }
    }
    // 128 weights, each with the error of an f32 difference in its exponent.
    type == DType::bf16 ? expect_bf16_agrees(agreement) : expect_f32_agrees(agreement, 5e-6);
  }
}

TEST(CompressorCpu, EveryGroupIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const Tokens t(9, 2, 77, random, 3);
  for (const DType type : {DType::bf16, DType::f32}) {
    EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
      Context context(2);
      return t.pool(compressor_cpu, context, type, first, n);
    }));
  }
}

TEST(CompressorCpu, LargeScoresDoNotOverflowAndNanStaysInItsChannel) {
  Random random(3);
  Tokens t(1, 2, 40, random, 1);
  const auto set = [&](std::size_t channel, float first, float second) {
    t.score[channel] = first;
    t.score[40 + channel] = second;
  };
  set(0, 3e38f, 3e38f);
  set(1, -std::numeric_limits<float>::infinity(), -1e30f);
  set(2, -3e38f, 3e38f);
  set(3, std::nanf(""), 1);
  set(4, 1, std::nanf(""));
  Context context;
  const auto y = t.pool(compressor_cpu, context, DType::f32, 0, 1);
  EXPECT_NEAR(y[0], (t.kv[0] + t.kv[40]) / 2, 1e-7);
  EXPECT_EQ(y[1], t.kv[41]);
  EXPECT_EQ(y[2], t.kv[42]);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(y[i]), i == 3 || i == 4) << i;
}

TEST(CompressorCpu, OneTokenIsItselfAndNoGroupIsNoWork) {
  Random random(4);
  const Tokens t(2, 1, 33, random, 50);
  Context context;
  EXPECT_EQ(t.pool(compressor_cpu, context, DType::f32, 0, 2), t.kv);
  EXPECT_TRUE(t.pool(compressor_cpu, context, DType::f32, 0, 0).empty());
}

}  // namespace
}  // namespace cachalot
