// SPDX-License-Identifier: Apache-2.0
// Replayed sequences (spec 11) in any steps; and what they have to give, by another way: the exact machinery runs all
// rows in one step, while an observer takes out of its lists what a replay has not kept.
#pragma once

#include <charconv>

#include "sequence_runner.h"

namespace cachalot {

// A text whose positions from `prompt` to just below `tail` are for the global state only, of each pair in turn.
struct ReplayText {
  struct Gap {
    std::int64_t prompt, tail;
  };
  std::vector<Row> rows;
  std::vector<Gap> gaps;

  std::int64_t length() const { return static_cast<std::int64_t>(rows.size()); }
  bool global_only(std::int64_t position) const {
    return std::ranges::any_of(gaps, [&](const Gap& g) { return position >= g.prompt && position < g.tail; });
  }
  // Where the windows of a row at this position begin, in the layers that a replay leaves out.
  std::int64_t window_start(std::int64_t position) const {
    std::int64_t start = 0;
    for (const Gap& g : gaps) {
      if (position >= g.tail) start = g.tail;
    }
    return start;
  }
};

inline ReplayText replay_text(std::int64_t length, std::vector<ReplayText::Gap> gaps, std::uint32_t seed,
                              std::int64_t vocab) {
  ReplayText text{random_rows(length, seed, vocab, 7), std::move(gaps)};
  for (std::int64_t p = 0; p < length; ++p) {
    Row& row = text.rows[static_cast<std::size_t>(p)];
    row.global_only = text.global_only(p);
    row.wants_logits = !row.global_only;
  }
  return text;
}

// What a draft behind a sequence gives.
inline std::vector<float> draft_behind(const Model& model, Context& context, Sequence& sequence,
                                       Observer* observer = nullptr) {
  Sequence* const sequences[] = {&sequence};
  const TokenId next[] = {TokenId{static_cast<std::int32_t>(sequence.length() % model.config().vocab_size)}};
  const auto drafts = model.draft(context, sequences, next, {}, observer);
  EXPECT_TRUE(drafts) << drafts.error().message;
  std::vector<float> all = drafts->logits;
  all.insert(all.end(), drafts->confidence.begin(), drafts->confidence.end());
  return all;
}

// Replayed sequences side by side.
class Replayer {
 public:
  Replayer(const Model& model, std::vector<ReplayText> texts, int threads = 1)
      : model_(model), texts_(std::move(texts)), logits_(texts_.size()), context_(threads, model.memory()) {
    for (const ReplayText& t : texts_) {
      sequences_.push_back(model.new_sequence());
      logits_[sequences_.size() - 1].resize(t.rows.size());
    }
  }

  Sequence& sequence(std::size_t s = 0) { return sequences_[s]; }
  Context& context() { return context_; }
  std::int64_t left(std::size_t s = 0) const { return texts_[s].length() - sequences_[s].length(); }
  // Of each position that wants them; empty for the others, and for those not run yet.
  const std::vector<std::vector<float>>& logits(std::size_t s = 0) const { return logits_[s]; }

  // The next count[s] rows of each sequence.
  Status step(const std::vector<std::int64_t>& count, Observer* observer = nullptr,
              const std::function<bool()>* stopped = nullptr) {
    std::vector<Sequence*> sequences;
    std::vector<Row> rows;
    std::vector<std::vector<float>*> to;
    for (std::size_t s = 0; s < texts_.size(); ++s) {
      sequences.push_back(&sequences_[s]);
      for (std::int64_t i = 0; i < count[s]; ++i) {
        const auto p = static_cast<std::size_t>(sequences_[s].length() + i);
        rows.push_back(texts_[s].rows[p]);
        rows.back().sequence = static_cast<std::int32_t>(s);
        if (rows.back().wants_logits) to.push_back(&logits_[s][p]);
      }
    }
    std::vector<float> logits;
    if (Status ran = model_.forward(context_, {sequences, rows, observer, stopped}, logits); !ran) return ran;
    auto from = logits.begin();
    for (std::vector<float>* row : to) {
      row->assign(from, from + model_.config().vocab_size);
      from += model_.config().vocab_size;
    }
    EXPECT_EQ(from, logits.end());
    return {};
  }

  // The only sequence up to `length`, in chunks that end where its text turns from tail to prompt.
  void run(std::int64_t length, std::int64_t chunk, Observer* observer = nullptr) {
    while (sequence().length() < length) {
      std::int64_t n = 0;
      const std::int64_t at = sequence().length();
      while (n < std::min(chunk, length - at)) {
        if (n > 0 && texts_[0].global_only(at + n) && !texts_[0].global_only(at + n - 1)) break;
        ++n;
      }
      const Status ran = step({n}, observer);
      ASSERT_TRUE(ran) << ran.error().message;
    }
  }

 private:
  const Model& model_;
  std::vector<ReplayText> texts_;
  std::vector<Sequence> sequences_;
  std::vector<std::vector<std::vector<float>>> logits_;
  Context context_;
};

// Takes the positions before their window's start out of the lists of a step that begins at position 0, or of a draft
// block: what is left moves up, as the engine lists it.
class ShortWindows : public Observer {
 public:
  ShortWindows(const Model& model, const ReplayText& text) : model_(model), text_(text) {}

  void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) override {
    constexpr std::string_view before = "layers.", behind = ".attn.topk_idxs";
    if (!name.starts_with(before) || !name.ends_with(behind)) return;
    std::int64_t layer = 0;
    std::from_chars(name.data() + before.size(), name.data() + name.size(), layer);
    if (layer < model_.config().kv_source_layers.back()) return;
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      const bool draft = layer >= model_.config().n_layers;
      const std::int64_t start = text_.window_start(draft ? text_.length() : first_row + r);
      const auto list = rows[r].span();
      // No std::ranges: clang 14 refuses the rest that it returns.
      std::fill(
          std::remove_if(list.begin(), list.end(), [&](std::int64_t entry) { return entry >= 0 && entry < start; }),
          list.end(), -1);
    }
  }

 private:
  const Model& model_;
  const ReplayText& text_;
};

// Exact in all but the lists of the layers that a replay leaves out.
struct ShortWindowed {
  ShortWindowed(const Model& model, ReplayText as_replayed)
      : text(std::move(as_replayed)), sequence(model.new_sequence()) {
    std::vector<Row> rows = text.rows;
    for (Row& row : rows) row.global_only = false, row.wants_logits = true;
    Sequence* const sequences[] = {&sequence};
    std::vector<float> all;
    ShortWindows observer(model, text);
    Context context(1, model.memory());
    const Status ran = model.forward(context, {sequences, rows, &observer}, all);
    EXPECT_TRUE(ran) << ran.error().message;
    const auto vocab = static_cast<std::ptrdiff_t>(model.config().vocab_size);
    for (auto from = all.begin(); from != all.end(); from += vocab) logits.emplace_back(from, from + vocab);
    if (model.options().drafts && model.config().n_mtp_layers > 0)
      draft = draft_behind(model, context, sequence, &observer);
  }

  ReplayText text;
  Sequence sequence;
  std::vector<std::vector<float>> logits;  // of every position
  std::vector<float> draft;                // behind the last one
};

// Whether the two hold the same for all later positions: groups, their keys, inputs of the unfinished one, n-grams.
inline ::testing::AssertionResult same_global_state(const Sequence& a, const Sequence& b) {
  const StateShape& shape = a.shape();
  if (a.length() != b.length()) return ::testing::AssertionFailure() << a.length() << " and " << b.length();
  const auto same_rows = [](const HostRows& of_x, const HostRows& of_y) {
    const PackedRows &x = of_x.rows, &y = of_y.rows;
    std::vector<float> from(static_cast<std::size_t>(x.width)), to(from.size());
    for (std::int64_t r = 0; r < x.rows; ++r) {
      x.decode(r, from);
      y.decode(r, to);
      if (!same_bits(from, to)) return r;
    }
    return std::int64_t{-1};
  };
  for (std::int64_t s = 0; s < std::ssize(shape.sources); ++s) {
    const std::int64_t ratio = shape.sources[static_cast<std::size_t>(s)].ratio, groups = a.length() / ratio;
    if (const auto r = same_rows(a.compressed(s, groups), b.compressed(s, groups)); r >= 0)
      return ::testing::AssertionFailure() << "group " << r << " of source " << s;
    if (const auto r = same_rows(a.index_keys(s, groups), b.index_keys(s, groups)); r >= 0)
      return ::testing::AssertionFailure() << "index key " << r << " of source " << s;
    for (std::int64_t p = groups * ratio; ratio > 1 && p < a.length(); ++p) {
      if (!same_bits(a.inputs(s, p), b.inputs(s, p)))
        return ::testing::AssertionFailure() << "compressor input " << p << " of source " << s;
    }
  }
  for (std::int64_t p = std::max<std::int64_t>(0, a.length() - shape.history); p < a.length(); ++p) {
    if (a.token_class(p) != b.token_class(p) || a.dead(p) != b.dead(p))
      return ::testing::AssertionFailure() << "history at " << p;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace cachalot
