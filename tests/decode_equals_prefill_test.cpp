// SPDX-License-Identifier: Apache-2.0
// A bit is a bit (design idea 4): the logits of a position are the same whether its sequence came whole, in chunks, one
// by one, among others, or after a truncation. Compared as bits, on the golden model mini-a, whose window is 56 and
// whose groups hold 2 tokens or 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/load_model.h"

namespace cachalot {
namespace {

constexpr std::int64_t longest = 120;

const Model& mini_a(Numerics numerics) {
  static const auto load = [](Numerics n) {
    auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.numerics = n, .drafts = true});
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
      std::abort();
    }
    return std::move(loaded->model);
  };
  static const Model released = load(Numerics::released);
  static const Model f32 = load(Numerics::f32);
  return numerics == Numerics::released ? released : f32;
}

std::vector<TokenId> random_tokens(std::int64_t n, std::uint32_t seed, std::int64_t vocab) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(TokenId{static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(vocab))});
  return tokens;
}

// Several sequences of one model, run step by step; remembers the logits of every position of every sequence.
class Runner {
 public:
  Runner(const Model& model, std::vector<std::vector<TokenId>> tokens)
      : model_(model), tokens_(std::move(tokens)), logits_(tokens_.size()) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) sequences_.push_back(model.new_sequence());
  }

  std::int64_t length(std::size_t s) const { return sequences_[s].length(); }
  std::int64_t left(std::size_t s) const { return static_cast<std::int64_t>(tokens_[s].size()) - length(s); }

  // Runs the next count[s] tokens of each sequence in one step.
  void step(const std::vector<std::int64_t>& count) {
    std::vector<Sequence*> sequences;
    std::vector<Row> rows;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      sequences.push_back(&sequences_[s]);
      for (std::int64_t i = 0; i < count[s]; ++i) {
        rows.push_back({.sequence = static_cast<std::int32_t>(s),
                        .token = tokens_[s][static_cast<std::size_t>(length(s) + i)],
                        .wants_logits = true});
      }
    }
    std::vector<std::int64_t> before;
    for (std::size_t s = 0; s < sequences_.size(); ++s) before.push_back(length(s));
    std::vector<float> logits;
    const Status ran = model_.forward(context_, {sequences, rows, nullptr}, logits);
    ASSERT_TRUE(ran) << ran.error().message;
    const auto vocab = static_cast<std::size_t>(model_.config().vocab_size);
    std::size_t row = 0;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      for (std::int64_t i = 0; i < count[s]; ++i, ++row) {
        const auto at = static_cast<std::size_t>(before[s] + i);
        if (logits_[s].size() <= at) logits_[s].resize(at + 1);
        logits_[s][at].assign(logits.begin() + static_cast<std::ptrdiff_t>(row * vocab),
                              logits.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocab));
      }
    }
  }
  void truncate(std::size_t s, std::int64_t to) { ASSERT_TRUE(sequences_[s].truncate(to)); }

  const std::vector<std::vector<float>>& logits(std::size_t s) const { return logits_[s]; }

 private:
  const Model& model_;
  std::vector<std::vector<TokenId>> tokens_;
  std::vector<Sequence> sequences_;
  std::vector<std::vector<std::vector<float>>> logits_;
  Context context_;
};

// The first position whose bits differ; -1 when none does.
std::int64_t first_difference(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& want,
                              std::int64_t length) {
  for (std::int64_t p = 0; p < length; ++p) {
    const auto& a = got[static_cast<std::size_t>(p)];
    const auto& b = want[static_cast<std::size_t>(p)];
    if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) return p;
  }
  return -1;
}

void one_by_one(Runner& run, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i) run.step({1});
}

void whole_equals_one_by_one(Numerics numerics, const std::vector<std::int64_t>& lengths) {
  const Model& model = mini_a(numerics);
  const std::int64_t most = std::ranges::max(lengths);
  const auto tokens = random_tokens(most, 1, model.config().vocab_size);
  Runner decode(model, {tokens});
  one_by_one(decode, most);
  for (const std::int64_t n : lengths) {
    Runner whole(model, {tokens});
    whole.step({n});
    EXPECT_EQ(first_difference(whole.logits(0), decode.logits(0), n), -1) << "a prompt of " << n << " at once";

    // The same length as the middle one of three, between a short and a long one, all starting at once.
    Runner batch(model, {random_tokens(7, 2, model.config().vocab_size), tokens,
                         random_tokens(61, 3, model.config().vocab_size)});
    batch.step({7, n, 61});
    EXPECT_EQ(first_difference(batch.logits(1), decode.logits(0), n), -1) << "a prompt of " << n << " among others";
  }
}

// Chunks of random size, of three sequences in random mixes, now and then taken back by up to the slack and run again.
void any_schedule_equals_one_by_one(Numerics numerics, int schedules) {
  const Model& model = mini_a(numerics);
  std::vector<std::vector<TokenId>> tokens;
  std::vector<std::vector<std::vector<float>>> want;
  for (std::uint32_t s = 0; s < 3; ++s) {
    tokens.push_back(random_tokens(longest - 13 * s, 10 + s, model.config().vocab_size));
    Runner alone(model, {tokens.back()});
    one_by_one(alone, static_cast<std::int64_t>(tokens.back().size()));
    want.push_back(alone.logits(0));
  }
  for (int schedule = 0; schedule < schedules; ++schedule) {
    std::mt19937 random(static_cast<std::uint32_t>(schedule));
    Runner run(model, tokens);
    while (run.left(0) + run.left(1) + run.left(2) > 0) {
      std::vector<std::int64_t> count;
      for (std::size_t s = 0; s < 3; ++s) {
        const std::int64_t most = random() % 3 == 0 ? 64 : 5;
        count.push_back(std::min(run.left(s), static_cast<std::int64_t>(random()) % most));
      }
      run.step(count);
      const std::size_t s = random() % 3;
      if (random() % 3 == 0) {
        const std::int64_t back = std::min<std::int64_t>(run.length(s), static_cast<std::int64_t>(random() % 4));
        // The slack is counted from the greatest length so far, so only the last chunk is taken back.
        if (back <= count[s]) run.truncate(s, run.length(s) - back);
      }
    }
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(first_difference(run.logits(s), want[s], static_cast<std::int64_t>(tokens[s].size())), -1)
          << "schedule " << schedule << ", sequence " << s;
    }
  }
}

std::vector<std::int64_t> every_length() {
  std::vector<std::int64_t> n;
  for (std::int64_t i = 1; i <= longest; ++i) n.push_back(i);
  return n;
}

TEST(DecodeEqualsPrefill, AtTheBordersOfGroupsAndWindowReleased) {
  whole_equals_one_by_one(Numerics::released, {1, 2, 3, 24, 25, 56, 57});
}
TEST(DecodeEqualsPrefill, AtTheBordersOfGroupsAndWindowF32) {
  whole_equals_one_by_one(Numerics::f32, {1, 2, 3, 24, 25, 56, 57});
}
TEST(DecodeEqualsPrefill, InAnyMixOfChunks) { any_schedule_equals_one_by_one(Numerics::released, 2); }

TEST(SlowDecodeEqualsPrefill, AtEveryLengthReleased) { whole_equals_one_by_one(Numerics::released, every_length()); }
TEST(SlowDecodeEqualsPrefill, AtEveryLengthF32) { whole_equals_one_by_one(Numerics::f32, every_length()); }
TEST(SlowDecodeEqualsPrefill, InAnyMixOfChunksReleased) { any_schedule_equals_one_by_one(Numerics::released, 40); }
TEST(SlowDecodeEqualsPrefill, InAnyMixOfChunksF32) { any_schedule_equals_one_by_one(Numerics::f32, 20); }

}  // namespace
}  // namespace cachalot
