// SPDX-License-Identifier: Apache-2.0
// Several sequences of one model, run in whatever steps a test likes, and what came out of them at every position: two
// ways to the same sequence must leave the same bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/load_model.h"
#include "kv/checksum.h"

namespace cachalot {

// The backend whose bits are compared: the cpu's, or as the tests named guarded.… say, its operators over memory that
// the host can't look into.
inline bool guarded() {
  const char* const backend = std::getenv("CACHALOT_TEST_BACKEND");
  return backend != nullptr && std::string_view(backend) == "guarded";
}
inline const Backend& cpu_under_test() { return guarded() ? guarded_backend() : cpu_backend(); }

inline Model load_mini_a(const ModelOptions& options) {
  auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", options);
  check(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
  return std::move(loaded->model);
}

// What a sequence will hold. One row in `image_every` is of an image: routed by another bias, and no part of n-grams.
inline std::vector<Row> random_rows(std::int64_t n, std::uint32_t seed, std::int64_t vocab, unsigned image_every = 0) {
  std::mt19937 random(seed);
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.push_back({.token = TokenId{static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(vocab))},
                    .wants_logits = true,
                    .image = image_every > 0 && random() % image_every == 0});
  }
  return rows;
}

// Of all that it holds.
inline std::uint64_t hash_of(const Sequence& s) {
  std::uint64_t hash = 0;
  s.each_part([&](std::span<const std::byte> part) { hash = checksum(part, hash); });
  return hash;
}

// What one sequence gave; numbers are kept as they came.
struct Outcome {
  std::vector<std::vector<float>> logits;            // of each position
  std::map<std::int64_t, std::vector<float>> draft;  // by length: logits, confidence and ids of a block behind it
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The first position below `length` whose bits differ, or whose draft does where both sides have one; -1 when none.
inline std::int64_t first_difference(const Outcome& got, const Outcome& want, std::int64_t length) {
  for (std::int64_t p = 0; p < length; ++p) {
    if (!same_bits(got.logits[static_cast<std::size_t>(p)], want.logits[static_cast<std::size_t>(p)])) return p;
    const auto a = got.draft.find(p), b = want.draft.find(p);
    if (a != got.draft.end() && b != want.draft.end() && !same_bits(a->second, b->second)) return p;
  }
  const auto a = got.draft.find(length), b = want.draft.find(length);
  return a != got.draft.end() && b != want.draft.end() && !same_bits(a->second, b->second) ? length : -1;
}

class Runner {
 public:
  Runner(const Model& model, std::vector<std::vector<Row>> texts, int threads = 1)
      : model_(model),
        texts_(std::move(texts)),
        outcomes_(texts_.size()),
        greatest_(texts_.size()),
        context_(threads, model.memory()) {
    for (std::size_t i = 0; i < texts_.size(); ++i) sequences_.push_back(model.new_sequence());
  }

  std::int64_t length(std::size_t s) const { return sequences_[s].length(); }
  std::int64_t left(std::size_t s) const { return static_cast<std::int64_t>(texts_[s].size()) - length(s); }
  std::int64_t left() const {
    std::int64_t n = 0;
    for (std::size_t s = 0; s < texts_.size(); ++s) n += left(s);
    return n;
  }

  // Runs the next count[s] rows of each sequence in one step. Of each sequence that gets rows, wrong[s] tokens of
  // another text run behind them, and are taken back: drafts that were rejected.
  void step(const std::vector<std::int64_t>& count, const std::vector<std::int64_t>& wrong = {}) {
    std::vector<Sequence*> sequences;
    std::vector<Row> rows;
    std::vector<std::int64_t> before;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      sequences.push_back(&sequences_[s]);
      before.push_back(length(s));
      const std::size_t first = rows.size();
      for (std::int64_t i = 0; i < count[s]; ++i) rows.push_back(texts_[s][static_cast<std::size_t>(length(s) + i)]);
      for (std::int64_t i = 0; i < extra(count, wrong, s); ++i) {
        rows.push_back({.token = TokenId{static_cast<std::int32_t>((7 + 31 * (length(s) + i)) % vocab())}});
      }
      for (std::size_t i = first; i < rows.size(); ++i) rows[i].sequence = static_cast<std::int32_t>(s);
    }
    std::vector<float> logits;
    const Status ran = model_.forward(context_, {sequences, rows, nullptr}, logits);
    ASSERT_TRUE(ran) << ran.error().message;
    auto from = logits.begin();
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      greatest_[s] = std::max(greatest_[s], length(s));
      if (const std::int64_t back = extra(count, wrong, s); back > 0) truncate(s, length(s) - back);
      auto& kept = outcomes_[s].logits;
      kept.resize(std::max(kept.size(), static_cast<std::size_t>(length(s))));
      for (std::int64_t p = before[s]; p < length(s); ++p, from += vocab()) {
        kept[static_cast<std::size_t>(p)].assign(from, from + vocab());
      }
    }
  }

  void one_by_one(std::int64_t n, bool drafts = false) {
    check(texts_.size() == 1, "one by one goes a single sequence");
    for (std::int64_t i = 0; i < n; ++i) {
      step({1});
      if (drafts) draft();
    }
  }

  // The shortest length that a truncation reaches.
  std::int64_t reach(std::size_t s) const {
    return std::max<std::int64_t>(0, greatest_[s] - model_.state_shape().slack);
  }
  void truncate(std::size_t s, std::int64_t to) {
    const Status done = sequences_[s].truncate(to);
    ASSERT_TRUE(done) << done.error().message;
  }

  // Drafts a block behind every sequence that has begun, all at once. The token they follow is a function of the
  // length.
  void draft() {
    std::vector<Sequence*> sequences;
    std::vector<std::size_t> number;
    std::vector<TokenId> next;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      if (length(s) == 0) continue;
      sequences.push_back(&sequences_[s]);
      number.push_back(s);
      next.push_back(TokenId{static_cast<std::int32_t>(length(s) * 13 % vocab())});
    }
    const auto drafts = model_.draft(context_, sequences, next);
    ASSERT_TRUE(drafts) << drafts.error().message;
    const std::int64_t block = drafts->block;
    for (std::size_t i = 0; i < number.size(); ++i) {
      auto& kept = outcomes_[number[i]].draft[length(number[i])];
      const auto part = [&](const std::vector<float>& all, std::int64_t size) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(i) * size;
        kept.insert(kept.end(), at, at + size);
      };
      kept.clear();
      part(drafts->logits, block * vocab());
      part(drafts->confidence, block);
      for (std::int64_t k = 0; k <= block; ++k) {
        kept.push_back(static_cast<float>(
            raw(drafts->ids[i * static_cast<std::size_t>(block + 1) + static_cast<std::size_t>(k)])));
      }
    }
  }

  const Outcome& outcome(std::size_t s) const { return outcomes_[s]; }

 private:
  std::int64_t vocab() const { return model_.config().vocab_size; }
  static std::int64_t extra(const std::vector<std::int64_t>& count, const std::vector<std::int64_t>& wrong,
                            std::size_t s) {
    return wrong.empty() || count[s] == 0 ? 0 : wrong[s];
  }

  const Model& model_;
  std::vector<std::vector<Row>> texts_;
  std::vector<Sequence> sequences_;
  std::vector<Outcome> outcomes_;
  std::vector<std::int64_t> greatest_;
  Context context_;
};

// Rows left in steps of random sizes, of sequences in random mixes; now and then rejected drafts run along, a sequence
// is taken back as far as it can be or less and goes on from there, and blocks are drafted where `drafts` says so.
inline void run_random_schedule(Runner& run, std::size_t sequences, std::mt19937& random, std::int64_t slack,
                                bool drafts) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
  };
  const std::int64_t usual = 1 + below(20);
  while (run.left() > 0) {
    std::vector<std::int64_t> count, wrong;
    for (std::size_t s = 0; s < sequences; ++s) {
      count.push_back(std::min(run.left(s), below(below(4) == 0 ? 65 : usual + 1)));
      wrong.push_back(below(3) == 0 ? below(slack + 1) : 0);
    }
    run.step(count, wrong);
    if (drafts && below(6) == 0) run.draft();
    const auto s = static_cast<std::size_t>(below(static_cast<std::int64_t>(sequences)));
    if (below(4) == 0 && run.reach(s) < run.length(s)) {
      run.truncate(s, run.reach(s) + below(run.length(s) - run.reach(s) + 1));
    }
  }
}

}  // namespace cachalot
