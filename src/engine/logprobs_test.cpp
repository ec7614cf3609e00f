// SPDX-License-Identifier: Apache-2.0
#include "engine/logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cachalot::logprobs_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(Logprobs, AreThoseOfTheWholeRowBestFirst) {
  const std::vector<float> logits = {1.0f, 3.0f, 3.0f, -infinity, nan};
  const double total = std::log(std::exp(1.0) + 2 * std::exp(3.0));
  const Logprobs found = logprobs(logits, TokenId{0}, 4);
  EXPECT_NEAR(found.chosen, 1 - total, 1e-12);
  ASSERT_EQ(found.top.size(), 4u);
  EXPECT_EQ(raw(found.top[0].id), 1);
  EXPECT_EQ(raw(found.top[1].id), 2);
  EXPECT_EQ(raw(found.top[2].id), 0);
  EXPECT_NEAR(found.top[0].logprob, 3 - total, 1e-12);
  EXPECT_EQ(found.top[2].logprob, found.chosen);
  EXPECT_EQ(found.top[3].logprob, -std::numeric_limits<double>::infinity());
}

TEST(Logprobs, GiveAtMostTheWholeVocabulary) {
  for (const std::int64_t vocab : {1, 2, 63, 64, 65, 1000}) {
    std::vector<float> logits;
    for (std::int64_t i = 0; i < vocab; ++i) logits.push_back(static_cast<float>(i * 7919 % 101));
    for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, vocab - 1, vocab, vocab + 1}) {
      const auto top = logprobs(logits, TokenId{0}, count).top;
      ASSERT_EQ(static_cast<std::int64_t>(top.size()), std::clamp<std::int64_t>(count, 0, vocab));
      for (std::size_t i = 1; i < top.size(); ++i) {
        const float a = logits[static_cast<std::size_t>(raw(top[i - 1].id))];
        const float b = logits[static_cast<std::size_t>(raw(top[i].id))];
        EXPECT_TRUE(a > b || (a == b && top[i - 1].id < top[i].id)) << i;
      }
    }
  }
}

}  // namespace
}  // namespace cachalot::logprobs_test
