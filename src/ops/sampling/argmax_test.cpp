// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling/argmax.h"

#include <limits>

#include "ops/test_backends.h"

namespace cachalot::argmax_test {
namespace {

using Argmax = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Argmax, each_backend(), place_name);

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int32_t> argmax(const On& on, View<const float, 2> x) {
  Array<std::int32_t, 1> index({x.extent(0)}, -7);
  on(&Backend::argmax, {x, index});
  return index.at;
}
std::int32_t argmax(const On& on, const std::vector<float>& row) {
  return argmax(on, {row.data(), {1, std::ssize(row)}})[0];
}

TEST_P(Argmax, LargestWinsWhereverItStands) {
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 497u}) {
    for (std::size_t at = 0; at < n; at += n / 5 + 1) {
      std::vector<float> row(n, -3.0f);
      row[at] = -2;
      EXPECT_EQ(argmax(on, row), static_cast<std::int32_t>(at)) << n;
    }
  }
  std::vector<float> row(129280, 0.25f);
  for (const std::size_t at : {0u, 16383u, 16384u, 129279u}) {
    row[at] = 0.5f;
    EXPECT_EQ(argmax(on, row), static_cast<std::int32_t>(at));
    row[at] = 0.25f;
  }
}

TEST_P(Argmax, LowerIndexWinsATie) {
  EXPECT_EQ(argmax(on, {1, 5, 2, 5, 5}), 1);
  EXPECT_EQ(argmax(on, std::vector<float>(129280, 0.25f)), 0);
  EXPECT_EQ(argmax(on, {-0.0f, 0.0f}), 0);
}

TEST_P(Argmax, NanNeverWins) {
  EXPECT_EQ(argmax(on, {nan, -1, nan, 3, nan}), 3);
  EXPECT_EQ(argmax(on, {nan, -infinity}), 1);
  EXPECT_EQ(argmax(on, {nan, nan}), 0);
}

TEST_P(Argmax, InfinitiesAreNumbers) {
  EXPECT_EQ(argmax(on, {-infinity, -infinity}), 0);
  EXPECT_EQ(argmax(on, {-infinity, -1e38f, infinity, 3}), 2);
}

TEST_P(Argmax, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(1);
  Array<float, 2> x({6, 40});
  for (float& v : x.at) v = static_cast<float>(random.below(9));
  const auto all = argmax(on.with_threads(2), x.view());
  for (std::int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(argmax(on, {x.at.begin() + row * 40, x.at.begin() + (row + 1) * 40}), all[static_cast<std::size_t>(row)]);
  }
}

TEST_P(Argmax, NoRowsIsNothingToDo) { EXPECT_TRUE(argmax(on, Array<float, 2>({0, 5}).view()).empty()); }

void expect_equal(Array<float, 2> x) {
  Agreement agreement;
  agreement.add([&](const On& on) {
    const auto index = argmax(on, x.view());
    return std::vector<float>(index.begin(), index.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << x.shape[1];
}

TEST(ArgmaxAgreement, WithTiesNanAndInfinities) {
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

TEST(ArgmaxAgreement, OnRowsOfNothingButNanOrMinusInfinity) {
  for (const std::int64_t n : {1, 40, 20000}) {
    Array<float, 2> x({4, n}, nan);
    for (std::int64_t i = 0; i < n; ++i) x.view()[1][i] = -infinity;
    x.view()[2][n - 1] = -infinity;
    x.view()[3][n / 2] = -3;
    expect_equal(x);
  }
}

TEST(ArgmaxAgreement, AtTheVocabularysSize) {
  Array<float, 2> x({5, 129280}, 0.25f);
  const std::int64_t where[] = {0, 16383, 16384, 129279};
  for (std::int64_t r = 0; r < 4; ++r) x.view()[r][where[r]] = 0.5f;  // row 4 is one tie
  expect_equal(x);
}

}  // namespace
}  // namespace cachalot::argmax_test
