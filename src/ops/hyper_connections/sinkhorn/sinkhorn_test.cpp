// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"

#include <cmath>

#include "ops/test_backends.h"

namespace cachalot::sinkhorn_test {
namespace {

using Sinkhorn = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Sinkhorn, each_backend(), place_name);

struct Mixes {
  std::vector<float> pre, post, comb;

  std::vector<float> all() const {
    std::vector<float> v = pre;
    v.insert(v.end(), post.begin(), post.end());
    v.insert(v.end(), comb.begin(), comb.end());
    return v;
  }
};

struct Case {
  std::int64_t copies = 2;
  std::vector<float> mixes;  // [rows, (2 + copies) · copies]
  std::vector<float> base = {}, scale = {1, 1, 1};
  int iterations = 20;
  float eps = 1e-6f;
};

Mixes sinkhorn(const On& on, Case c) {
  const std::int64_t width = (2 + c.copies) * c.copies, rows = static_cast<std::int64_t>(c.mixes.size()) / width;
  if (c.base.empty()) c.base.assign(static_cast<std::size_t>(width), 0);
  const auto copies = static_cast<std::size_t>(rows * c.copies);
  Mixes out{std::vector<float>(copies), std::vector<float>(copies),
            std::vector<float>(copies * static_cast<std::size_t>(c.copies))};
  on(&Backend::sinkhorn, {.mixes = {c.mixes.data(), {rows, width}},
                          .base = {c.base.data(), {width}},
                          .scale = {c.scale.data(), {3}},
                          .iterations = c.iterations,
                          .eps = c.eps,
                          .pre = {out.pre.data(), {rows, c.copies}},
                          .post = {out.post.data(), {rows, c.copies}},
                          .comb = {out.comb.data(), {rows, c.copies, c.copies}}});
  return out;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance = 4e-7f) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "at " << i;
}

// A row of the released reference's own numbers. It converges slowly: one round less is off by 2.0e-6, no eps by
// 3.8e-6.
TEST_P(Sinkhorn, GoldenRowComesOutWithinTheTolerance) {
  const Mixes m =
      sinkhorn(on, {.copies = 4,
                    .mixes = {-0.976385593f, 0.118281677f,  0.989716887f,  -0.667830408f, 0.17030406f,   0.326448917f,
                              -0.572709262f, 1.33412337f,   -0.217799917f, 1.34959865f,   -0.605303586f, 0.047602281f,
                              -0.712710619f, -0.114897057f, -0.15512836f,  -0.897609234f, 0.113655888f,  1.27746594f,
                              0.167518735f,  -1.60864043f,  0.0655128062f, -1.24721491f,  -2.12471199f,  0.258659363f},
                    .base = {-0.101007923f,  2.71602941f,   -1.54850972f,  -1.06894779f,  -1.25072074f, -0.83840251f,
                             -0.053581614f,  -0.6980111f,   0.985042989f,  -0.470531106f, 1.75653195f,  -2.16555619f,
                             -0.0646173656f, 0.113577604f,  -0.810755849f, -1.93972051f,  1.00982308f,  1.24574614f,
                             -1.08839273f,   -0.641772747f, -0.424604088f, -0.577783227f, -1.50002682f, 0.755043864f},
                    .scale = {0.69921875f, 1.1015625f, 0.400390625f}});
  expect_near(m.pre, {0.313520759f, 0.942608356f, 0.298076093f, 0.177132025f});
  expect_near(m.post, {0.513427258f, 0.76507169f, 0.67053473f, 1.36773777f});
  expect_near(m.comb, {0.242215961f, 0.0805976167f, 0.65340966f, 0.0237727668f, 0.301830262f, 0.348994255f,
                       0.260608494f, 0.0885642841f, 0.342772156f, 0.526685476f, 0.0625820607f, 0.0679578483f,
                       0.113180719f, 0.0437217467f, 0.0233989004f, 0.819704115f});
}

TEST_P(Sinkhorn, PreHasEpsAndPostIsTwiceASigmoid) {
  const float ln3 = std::log(3.0f);
  const Mixes m = sinkhorn(on, {.mixes = {0, ln3, 0, -ln3, 0, 0, 0, 0}, .eps = 0.25f});
  expect_near(m.pre, {0.75f, 1.0f});
  expect_near(m.post, {1.0f, 0.5f});
}

TEST_P(Sinkhorn, FirstRoundIsASoftmaxOfEachRowThenColumns) {
  // Rows ¾ ¼ and ½ ½; columns sum to 5/4 and 3/4.
  const Mixes m = sinkhorn(on, {.mixes = {0, 0, 0, 0, std::log(3.0f), 0, 0, 0}, .iterations = 1, .eps = 0});
  expect_near(m.comb, {0.6f, 1.0f / 3, 0.4f, 2.0f / 3});
}

TEST_P(Sinkhorn, OneCopyShowsEveryEps) {
  // Softmax gives 1; (1 + e) / (1 + 2e) after the first columns, then each division adds e to the sum.
  const float e = 0.5f;
  const std::vector<float> zeros = {0, 0, 0};
  EXPECT_FLOAT_EQ(sinkhorn(on, {.copies = 1, .mixes = zeros, .iterations = 1, .eps = e}).comb[0], 0.75f);
  // 0.75 / 1.25 = 0.6, 0.6 / 1.1 = 6/11.
  EXPECT_FLOAT_EQ(sinkhorn(on, {.copies = 1, .mixes = zeros, .iterations = 2, .eps = e}).comb[0], 6.0f / 11);
}

TEST_P(Sinkhorn, ScaleAndBaseOfEachPartGoToThatPart) {
  const Case plain{.mixes = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f}};
  Case scaled = plain;
  scaled.mixes = {.05f, .1f, .1f, .4f / 3, .125f, .15f, .175f, .2f};
  scaled.scale = {2, 3, 4};
  Case based = plain;
  based.mixes.assign(8, 0);
  based.base = plain.mixes;
  const Mixes want = sinkhorn(on, plain);
  for (const Mixes& m : {sinkhorn(on, scaled), sinkhorn(on, based)}) {
    expect_near(m.pre, want.pre);
    expect_near(m.post, want.post);
    expect_near(m.comb, want.comb);
  }
}

TEST_P(Sinkhorn, AgreesWithTheTwoScalingVectorsOfATriangularMatrix) {
  // Sinkhorn of [[1, 1], [~0, 1]] converges like 1/n, so every round shows. Here as one factor per row and per column.
  const double tiny = std::exp(-12.0), eps = 1e-6;
  const double k[2][2] = {{0.5 + eps, 0.5 + eps}, {tiny / (1 + tiny) + eps, 1 / (1 + tiny) + eps}};
  double row[2] = {1, 1}, column[2];
  for (int round = 0; round < 20; ++round) {
    if (round > 0) {
      for (int i = 0; i < 2; ++i) row[i] /= row[i] * (k[i][0] * column[0] + k[i][1] * column[1]) + eps;
    } else {
      column[0] = column[1] = 1;
    }
    for (int c = 0; c < 2; ++c) column[c] /= column[c] * (k[0][c] * row[0] + k[1][c] * row[1]) + eps;
  }
  const Mixes m = sinkhorn(on, {.mixes = {0, 0, 0, 0, 0, 0, -12, 0}});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(m.comb[i], row[i / 2] * k[i / 2][i % 2] * column[i % 2], 1e-7);
}

TEST_P(Sinkhorn, RowsAndColumnsSumToAboutOne) {
  for (std::int64_t copies : {1, 2, 3, 4, 8}) {
    const auto n = static_cast<std::size_t>(copies);
    const Mixes m = sinkhorn(on, {.copies = copies, .mixes = noise((2 + copies) * copies, 11)});
    for (std::size_t i = 0; i < n; ++i) {
      float row = 0, column = 0;
      for (std::size_t j = 0; j < n; ++j) {
        row += m.comb[i * n + j];
        column += m.comb[j * n + i];
      }
      EXPECT_NEAR(row, 1, 1e-5);
      EXPECT_NEAR(column, 1, 2e-6);
    }
  }
}

TEST_P(Sinkhorn, NumbersOfAnySizeStayFinite) {
  const Mixes m = sinkhorn(on, {.mixes = {3e38f, -3e38f, 3e38f, -3e38f, 3e38f, -3e38f, -1000, 1000}});
  expect_near(m.pre, {1 + 1e-6f, 1e-6f});
  expect_near(m.post, {2, 0});
  expect_near(m.comb, {1, 1e-6f, 1e-6f, 1}, 3e-6f);
}

TEST_P(Sinkhorn, NoRowsIsNoWork) { EXPECT_TRUE(sinkhorn(on, {.mixes = {}}).comb.empty()); }

TEST_P(Sinkhorn, NoIterationsStops) { EXPECT_DEATH(sinkhorn(on, {.mixes = noise(8, 1), .iterations = 0}), "sinkhorn"); }

TEST_P(Sinkhorn, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::vector<float> mixes = noise(50 * 24, 12, 3.0f), base = noise(24, 13);
  for (auto part : {&Mixes::pre, &Mixes::post, &Mixes::comb}) {
    EXPECT_TRUE(rows_stand_alone(50, [&](std::int64_t first, std::int64_t n) {
      const auto at = mixes.begin() + first * 24;
      return sinkhorn(on.with_threads(3), {.copies = 4, .mixes = std::vector(at, at + n * 24), .base = base}).*part;
    }));
  }
}

TEST(SinkhornAgreement, AtEverySizeAndNumberOfIterations) {
  Random random(1);
  for (const std::int64_t hc : {1, 2, 3, 4, 8}) {
    for (const int iterations : {1, 2, 20}) {
      for (const float size : {0.0f, 1.0f, 30.0f, 3e38f}) {
        for (const std::int64_t rows : {0, 1, 40}) {
          Case c{.copies = hc, .mixes = random_floats(rows * (2 + hc) * hc, random, size)};
          c.base = random_floats((2 + hc) * hc, random);
          c.scale = {0.7f, 1.1f, 0.4f};
          c.iterations = iterations;
          Agreement agreement;
          agreement.add([&](const On& on) { return sinkhorn(on, c).all(); });
          EXPECT_LE(agreement.error, 1e-6) << agreement;
        }
      }
    }
  }
}

TEST(SinkhornAgreement, OnWhereEveryEpsStands) {
  Random random(2);
  for (const int iterations : {1, 2, 3}) {
    Case c{.copies = 4, .mixes = random_floats(5 * 24, random, 2)};
    c.base = random_floats(24, random);
    c.scale = {0.7f, 1.1f, 0.4f};
    c.iterations = iterations;
    c.eps = 0.25f;
    Agreement agreement;
    agreement.add([&](const On& on) { return sinkhorn(on, c).all(); });
    EXPECT_LE(agreement.error, 1e-6) << agreement;
  }
}

}  // namespace
}  // namespace cachalot::sinkhorn_test
