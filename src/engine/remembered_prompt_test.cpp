// SPDX-License-Identifier: Apache-2.0
#include "engine/remembered_prompt.h"

#include <gtest/gtest.h>

#include "engine/test_generate.h"

namespace cachalot {
namespace {

std::vector<TokenId> with(std::vector<TokenId> ids, std::size_t at, TokenId id) {
  ids.at(at) = id;
  return ids;
}

// Remembers tokens(n), with a mark behind the first `marked`.
RememberedPrompt remembering(std::int64_t n, std::int64_t marked) {
  RememberedPrompt r(mini().model.state_shape());
  Context context;
  const auto all = tokens(n);
  const auto run = [&](std::span<const TokenId> part) {
    if (part.empty()) return;
    EXPECT_TRUE(generate(mini(), context, r.sequence(), part, {.max_tokens = 0}));
  };
  EXPECT_EQ(r.keep_beginning_of(all), 0);
  run(std::span(all).first(static_cast<std::size_t>(marked)));
  r.mark(std::span(all).first(static_cast<std::size_t>(marked)));
  run(std::span(all).subspan(static_cast<std::size_t>(marked)));
  r.set_ids(all);
  return r;
}

TEST(RememberedPrompt, KeepsTheCommonBeginningButNeverAllOfThePrompt) {
  constexpr std::int64_t n = 40;
  EXPECT_EQ(remembering(n, 5).keep_beginning_of(tokens(n + 1)), n);
  EXPECT_EQ(remembering(n, 5).keep_beginning_of(tokens(n)), n - 1);
  EXPECT_EQ(remembering(n, 5).keep_beginning_of(tokens(n - 3)), n - 4);
  EXPECT_EQ(remembering(n, 5).keep_beginning_of(with(tokens(n + 1), n - 2, TokenId{2})), n - 2);
  EXPECT_EQ(remembering(n, 5).keep_beginning_of(tokens(1)), 0);
}

TEST(RememberedPrompt, GoesBackToTheMarkWhereTheSlackDoesNotReachAndElseToTheStart) {
  const std::int64_t slack = mini().model.state_shape().slack;
  const std::int64_t n = 100, marked = 60;
  ASSERT_LT(marked + slack, n - slack);
  for (const std::int64_t differ : {n - slack, n - slack - 1, marked, marked - slack, marked - slack - 1}) {
    RememberedPrompt r = remembering(n, marked);
    const auto prompt = with(tokens(n + 5), static_cast<std::size_t>(differ), TokenId{2});
    const std::int64_t want = differ >= n - slack        ? differ
                              : differ > marked          ? marked
                              : differ >= marked - slack ? differ
                                                         : 0;
    EXPECT_EQ(r.keep_beginning_of(prompt), want) << differ;
    EXPECT_EQ(r.sequence().length(), want) << differ;
    EXPECT_EQ(std::ssize(r.ids()), want) << differ;
  }
}

TEST(RememberedPrompt, TheMarkServesMoreThanOnce) {
  RememberedPrompt r = remembering(100, 60);
  Context context;
  for (const int id : {2, 5}) {
    const auto prompt = with(tokens(105), 60, TokenId{id});
    EXPECT_EQ(r.keep_beginning_of(prompt), 60);
    EXPECT_TRUE(generate(mini(), context, r.sequence(), std::span(prompt).subspan(60), {.max_tokens = 0}));
    r.set_ids(prompt);
  }
}

TEST(RememberedPrompt, OfTokensThatWereNotCommittedNothingIsKept) {
  RememberedPrompt r = remembering(30, 30);
  r.set_ids(tokens(35));
  EXPECT_EQ(std::ssize(r.ids()), 30);
  EXPECT_EQ(r.keep_beginning_of(tokens(36)), 30);
}

}  // namespace
}  // namespace cachalot
