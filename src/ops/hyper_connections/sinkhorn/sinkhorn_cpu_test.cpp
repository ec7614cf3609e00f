// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

// pre, post and comb, one after the other; first .. count are rows of mixes.
std::vector<float> run(void (*op)(Context&, const SinkhornArgs&), Context& context, std::int64_t hc, int iterations,
                       float eps, const std::vector<float>& mixes, const std::vector<float>& base) {
  const std::int64_t width = (2 + hc) * hc, rows = static_cast<std::int64_t>(mixes.size()) / width;
  const std::vector<float> scale = {0.7f, 1.1f, 0.4f};
  std::vector<float> out(mixes.size());
  op(context, {.mixes = {mixes.data(), {rows, width}},
               .base = {base.data(), {width}},
               .scale = {scale.data(), {3}},
               .iterations = iterations,
               .eps = eps,
               .pre = {out.data(), {rows, hc}},
               .post = {out.data() + rows * hc, {rows, hc}},
               .comb = {out.data() + 2 * rows * hc, {rows, hc, hc}}});
  return out;
}

TEST(SinkhornCpu, AgreesWithTheReference) {
  Random random(1);
  for (const std::int64_t hc : {1, 2, 3, 4, 8}) {
    for (const int iterations : {1, 2, 20}) {
      for (const float size : {0.0f, 1.0f, 30.0f, 3e38f}) {
        for (const std::int64_t rows : {0, 1, 40}) {
          const auto mixes = random_floats(rows * (2 + hc) * hc, random, size);
          const auto base = random_floats((2 + hc) * hc, random);
          Agreement agreement;
          agreement.add(sinkhorn_ref, sinkhorn_cpu, [&](auto op, Context& context) {
            return run(op, context, hc, iterations, 1e-6f, mixes, base);
          });
          EXPECT_LE(agreement.error, 1e-6) << agreement;
        }
      }
    }
  }
}

TEST(SinkhornCpu, EveryEpsIsWhereTheReferenceHasIt) {
  Random random(2);
  for (const int iterations : {1, 2, 3}) {
    const auto mixes = random_floats(5 * 24, random, 2), base = random_floats(24, random);
    Agreement agreement;
    agreement.add(sinkhorn_ref, sinkhorn_cpu,
                  [&](auto op, Context& context) { return run(op, context, 4, iterations, 0.25f, mixes, base); });
    EXPECT_LE(agreement.error, 1e-6) << agreement;
  }
}

TEST(SinkhornCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  const auto mixes = random_floats(50 * 24, random, 3), base = random_floats(24, random);
  Context context(3);
  const std::vector<float> all = run(sinkhorn_cpu, context, 4, 20, 1e-6f, mixes, base);
  for (std::ptrdiff_t r = 0; r < 50; ++r) {
    const std::vector<float> one(mixes.begin() + 24 * r, mixes.begin() + 24 * (r + 1));
    const std::vector<float> alone = run(sinkhorn_cpu, context, 4, 20, 1e-6f, one, base);
    EXPECT_TRUE(std::equal(alone.begin(), alone.begin() + 4, all.begin() + 4 * r));
    EXPECT_TRUE(std::equal(alone.begin() + 4, alone.begin() + 8, all.begin() + 4 * (50 + r)));
    EXPECT_TRUE(std::equal(alone.begin() + 8, alone.end(), all.begin() + 400 + 16 * r));
  }
}

}  // namespace
}  // namespace cachalot
