// SPDX-License-Identifier: Apache-2.0
// For tests: draft sources that know, or do not know, what comes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "engine/draft_source.h"
#include "engine/generate.h"

namespace cachalot {

// Knows the completions of a run without drafts; the first `right` drafts of a block are what will come, the others are
// certainly not. Behind what it knows it guesses.
class KnowingDrafts : public DraftSource {
 public:
  KnowingDrafts(std::vector<Completion> known, std::int64_t right, std::int64_t block = 5)
      : known_(std::move(known)), right_(right), block_(block) {}

  std::int64_t block() const override { return block_; }
  Status draft(Context&, std::span<DraftRequest> requests) override {
    ++asked;
    for (DraftRequest& r : requests) {
      for (std::int64_t i = 0; i < r.count; ++i) {
        const TokenId coming = at(r, i);
        r.drafts.push_back(i < right_ ? coming : TokenId{raw(coming) == 7 ? 8 : 7});
      }
    }
    return {};
  }

  std::int64_t asked = 0;

 private:
  // Choices are told apart by what they have made: the completion that holds `next` at that place.
  TokenId at(const DraftRequest& r, std::int64_t i) const {
    for (const Completion& c : known_) {
      const std::int64_t first = raw(c.tokens.front().position);
      const std::int64_t place = r.sequence->length() - first;
      const auto size = static_cast<std::int64_t>(c.tokens.size());
      if (place < 0 || place + 1 + i >= size || c.tokens[static_cast<std::size_t>(place)].id != r.next) continue;
      return c.tokens[static_cast<std::size_t>(place + 1 + i)].id;
    }
    return TokenId{3};
  }

  std::vector<Completion> known_;
  std::int64_t right_;
  std::int64_t block_;
};

// Any tokens, and any number of them.
class RandomDrafts : public DraftSource {
 public:
  RandomDrafts(std::uint32_t seed, std::int64_t vocab) : random_(seed), vocab_(vocab) {}

  std::int64_t block() const override { return 5; }
  Status draft(Context&, std::span<DraftRequest> requests) override {
    for (DraftRequest& r : requests) {
      for (std::int64_t i = static_cast<std::int64_t>(random_() % 6); i < r.count; ++i)
        r.drafts.push_back(TokenId{static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(vocab_))});
    }
    return {};
  }

 private:
  std::mt19937 random_;
  std::int64_t vocab_;
};

// What can be told of a completion, to the bit: ids, positions, logprobs (of the whole row, where it was asked for
// all), text and end.
inline void expect_same_completion(const Completion& got, const Completion& want) {
  ASSERT_EQ(got.tokens.size(), want.tokens.size());
  EXPECT_EQ(got.text, want.text);
  EXPECT_EQ(got.end, want.end);
  EXPECT_EQ(got.stop_string, want.stop_string);
  for (std::size_t i = 0; i < got.tokens.size(); ++i) {
    ASSERT_EQ(got.tokens[i].id, want.tokens[i].id) << "token " << i;
    EXPECT_EQ(got.tokens[i].position, want.tokens[i].position);
    ASSERT_EQ(got.tokens[i].logprob, want.tokens[i].logprob) << "token " << i;
    ASSERT_EQ(got.tokens[i].top.size(), want.tokens[i].top.size());
    for (std::size_t k = 0; k < got.tokens[i].top.size(); ++k) {
      ASSERT_EQ(got.tokens[i].top[k].id, want.tokens[i].top[k].id) << "token " << i;
      ASSERT_EQ(got.tokens[i].top[k].logprob, want.tokens[i].top[k].logprob) << "token " << i;
    }
  }
}

}  // namespace cachalot
