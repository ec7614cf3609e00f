// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/sampling/argmax.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void expect_equal(Array<float, 2> x) {
  Agreement agreement;
  agreement.add(argmax_ref, argmax_cpu, [&](auto op, Context& context) {
    Array<std::int32_t, 1> index({x.shape[0]}, -7);
    op(context, {x, index});
    return std::vector<float>(index.at.begin(), index.at.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << x.shape[1];
}

TEST(ArgmaxCpu, GivesTheReferencesIndexWithTiesNanAndInfinities) {
  Random random(1);
  const float odd[] = {nan, infinity, -infinity, 0.0f, -0.0f};
  for (const std::int64_t n : {1, 2, 15, 16, 17, 497, 16383, 16384, 16385, 40000}) {
    for (int round = 0; round < 6; ++round) {
      Array<float, 2> x({3, n});
      const std::int64_t kinds = round < 2 ? 1 : 1 + random.below(3 * n);
      for (float& v : x.at) {
        v = static_cast<float>(random.below(kinds) - kinds / 2);
        if (round % 2 == 1 && random.below(4) == 0) v = odd[random.below(round == 1 ? 5 : 3) == 1 ? 2 : 0];
        if (round == 5) v = odd[3 + random.below(2)];
      }
      expect_equal(x);
    }
  }
}

TEST(ArgmaxCpu, RowsOfNothingButNanOrMinusInfinityGiveTheReferencesIndex) {
  for (const std::int64_t n : {1, 40, 20000}) {
    Array<float, 2> x({4, n}, nan);
    for (std::int64_t i = 0; i < n; ++i) x.view()[1][i] = -infinity;
    x.view()[2][n - 1] = -infinity;
    x.view()[3][n / 2] = -3;
    expect_equal(x);
  }
}

TEST(ArgmaxCpu, FindsTheLargestOfTheVocabularyWhereverItStands) {
  Array<float, 2> x({5, 129280}, 0.25f);
  const std::int64_t where[] = {0, 16383, 16384, 129279};
  for (std::int64_t r = 0; r < 4; ++r) x.view()[r][where[r]] = 0.5f;  // row 4 is one tie
  expect_equal(x);
}

TEST(ArgmaxCpu, NoRowsIsNothingToDo) { expect_equal(Array<float, 2>({0, 5})); }

}  // namespace
}  // namespace cachalot
