// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/top_k.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "device/cpu/simd_level.h"

namespace cachalot::top_k_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(FirstAbove, IsFoundWhereverItStandsAtEveryLevelAndLength) {
  for (const SimdLevel& level : simd_levels()) {
    force_simd_level(level);
    for (std::size_t n = 0; n < 150; ++n) {
      std::vector<float> x(n, 1.0f);
      if (n > 2) x[1] = std::nanf("");
      EXPECT_EQ(first_above(x.data(), static_cast<std::int64_t>(n), 1), static_cast<std::int64_t>(n));
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> y = x;
        y[at] = 1.5f;
        y[n - 1] = 2;
        ASSERT_EQ(first_above(y.data(), static_cast<std::int64_t>(n), 1), static_cast<std::int64_t>(at)) << level.name;
      }
    }
  }
  force_simd_level(simd_levels().front());
}

TEST(FirstAbove, ZerosAreEqualAndMinusInfinityIsBelowAllNumbers) {
  const std::vector<float> x = {-0.0f, 0.0f, -infinity, -1};
  EXPECT_EQ(first_above(x.data(), 4, -0.0f), 4);
  EXPECT_EQ(first_above(x.data(), 4, 0.0f), 4);
  EXPECT_EQ(first_above(x.data() + 2, 2, -infinity), 1);
}

std::vector<std::int32_t> best(const std::vector<float>& x, std::int64_t k) {
  std::vector<TopK::Entry> room(static_cast<std::size_t>(TopK::room_for(k)));
  TopK top(k, room);
  top.add_all(x.data(), static_cast<std::int64_t>(x.size()), 0);
  std::vector<std::int32_t> indices;
  for (const auto e : top.best()) indices.push_back(TopK::index(e));
  return indices;
}

std::vector<std::int32_t> sorted(const std::vector<float>& x, std::int64_t k) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int32_t i) {
    const float v = x[static_cast<std::size_t>(i)];
    return std::isnan(v) ? -infinity : v;
  };
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return value(a) > value(b); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(k)));
  std::ranges::sort(order);
  return order;
}

TEST(TopK, IsWhatAStableSortKeeps) {
  std::mt19937 random(1);
  const float odd[] = {std::nanf(""), -infinity, infinity, 0.0f, -0.0f, 1e-45f, -1e-45f, 3e38f, -3e38f};
  for (int round = 0; round < 400; ++round) {
    std::vector<float> x(random() % 900);
    const auto kinds = static_cast<unsigned>(1 + random() % 40);
    for (float& v : x) {
      v = static_cast<float>(random() % kinds) - static_cast<float>(kinds / 2);
      if (random() % 9 == 0) v = odd[random() % 9];
    }
    if (round % 4 == 1) std::ranges::sort(x, std::less<>());  // every number is better than those before
    for (const std::int64_t k : {1, 2, 7, 64, 512, 1000}) ASSERT_EQ(best(x, k), sorted(x, k)) << round << " " << k;
  }
}

TEST(TopK, RowsGiveTheSameInPiecesAndOnAnyNumberOfThreads) {
  std::mt19937 random(2);
  const std::int64_t n = 800'000;  // three pieces
  std::vector<float> x(static_cast<std::size_t>(2 * n));
  for (float& v : x) v = static_cast<float>(random() % 5000);
  const std::int64_t lengths[] = {n, 300'000};
  std::vector<std::vector<std::int32_t>> want;
  for (std::int64_t row = 0; row < 2; ++row) {
    want.push_back(sorted({x.begin() + row * n, x.begin() + row * n + lengths[row]}, 500));
  }
  for (const std::int64_t rows : {1, 2}) {
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      Arena arena;
      std::vector<std::vector<std::int32_t>> got(static_cast<std::size_t>(rows));
      top_k_rows(
          pool, arena, rows, 500, [&](std::int64_t row) { return lengths[row]; },
          [&](std::int64_t row, std::int64_t first, std::int64_t last, TopK& top) {
            top.add_all(x.data() + row * n + first, last - first, first);
          },
          [&](std::int64_t row, std::span<const TopK::Entry> found) {
            for (const auto e : found) got[static_cast<std::size_t>(row)].push_back(TopK::index(e));
          });
      for (std::size_t row = 0; row < got.size(); ++row) EXPECT_EQ(got[row], want[row]) << threads << " " << row;
    }
  }
}

}  // namespace
}  // namespace cachalot::top_k_test
