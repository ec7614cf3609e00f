// SPDX-License-Identifier: Apache-2.0
// What a forward promises and golden prompts do not show: which rows give logits, whose index keys are read when nobody
// asks, what the draft stages get to see. On the golden model mini-a.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "engine/load_model.h"
#include "verify/golden_file.h"
#include "verify/statistics.h"
#include "verify/tolerance.h"

namespace cachalot::forward_test {
namespace {

const Model& mini_a() {
  static const LoadedModel loaded = [] {
    auto l = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.numerics = Numerics::f32, .drafts = true});
    if (!l) {
      ADD_FAILURE() << l.error().message;
      std::abort();
    }
    return std::move(*l);
  }();
  return loaded.model;
}

// Keeps everything that passes by, a row each.
class Recorder : public Observer {
 public:
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override {
    auto& kept = values_[std::string(name)];
    kept.resize(static_cast<std::size_t>(first_row));
    for (std::int64_t r = 0; r < rows.extent(0); ++r) kept.push_back(rows[r].floats());
  }
  void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) override {
    auto& kept = numbers_[std::string(name)];
    kept.resize(static_cast<std::size_t>(first_row));
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      kept.emplace_back(rows[r].span().begin(), rows[r].span().end());
    }
  }

  std::map<std::string, std::vector<std::vector<float>>> values_;
  std::map<std::string, std::vector<std::vector<std::int64_t>>> numbers_;
};

std::vector<Row> prompt(std::int64_t length) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < length; ++i)
    rows.push_back({.token = TokenId{static_cast<std::int32_t>(3 + i * 41 % 400)}});
  return rows;
}

std::vector<float> run(Sequence& sequence, std::span<const Row> rows, Observer* observer = nullptr) {
  Context context;
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  const Status ran = mini_a().forward(context, {one, rows, observer}, logits);
  EXPECT_TRUE(ran) << ran.error().message;
  return logits;
}

TEST(Forward, LogitsAreThoseOfTheRowsThatWantThemInOrder) {
  constexpr std::size_t length = 9;
  std::vector<std::vector<float>> of_position;  // from steps of one row, where there is nothing to mix up
  Sequence alone = mini_a().new_sequence();
  for (Row row : prompt(length)) {
    row.wants_logits = true;
    of_position.push_back(run(alone, {&row, 1}));
  }
  for (const auto& wanted : {std::vector<std::size_t>{8}, {0}, {2, 3, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {}}) {
    std::vector<Row> rows = prompt(length);
    std::vector<float> want;
    for (const std::size_t p : wanted) {
      rows[p].wants_logits = true;
      want.insert(want.end(), of_position[p].begin(), of_position[p].end());
    }
    Sequence sequence = mini_a().new_sequence();
    EXPECT_TRUE(run(sequence, rows) == want) << wanted.size() << " rows";
  }
}

TEST(Forward, AStepThatIsStoppedBeforeAnyLayerLeavesNoTrace) {
  std::vector<Row> rows = prompt(30);
  rows.back().wants_logits = true;
  const std::span<const Row> first(rows.data(), 11), rest(rows.data() + 11, 19);
  Sequence never_stopped = mini_a().new_sequence();
  run(never_stopped, first);
  const std::vector<float> want = run(never_stopped, rest);

  Context context;
  Sequence sequence = mini_a().new_sequence();
  run(sequence, first);
  Sequence* const one[] = {&sequence};
  for (std::int64_t layer = 0; layer < mini_a().config().n_layers; ++layer) {
    std::int64_t asked = 0;
    const std::function<bool()> stopped = [&] { return asked++ == layer; };
    std::vector<float> logits;
    const Status ran = mini_a().forward(context, {one, rest, nullptr, &stopped}, logits);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, Errc::stopped);
    EXPECT_TRUE(logits.empty());
    EXPECT_EQ(sequence.length(), 11);
  }
  EXPECT_EQ(run(sequence, rest), want);
}

TEST(Forward, IndexKeysAreTheOwnersUnlessAskedOtherwise) {
  EXPECT_EQ(ModelOptions{}.index_keys, IndexKeys::owner);
  EXPECT_EQ(mini_a().options().index_keys, IndexKeys::owner);
}

// What was published last is each sequence's own (spec 10): a sequence in the same step that completes a group of
// source 0 changes nothing for one that does not, and so reads what the last source left.
TEST(Forward, PublishedKeysAreThoseOfTheSequenceWhateverRunsBesideIt) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a",
                                 {.backend = &cpu_backend(), .index_keys = IndexKeys::published_slot});
  ASSERT_TRUE(loaded);
  const Model& model = loaded->model;
  const auto step = [&](const std::vector<Sequence*>& sequences, std::int64_t rows_each) {
    std::vector<Row> rows;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      for (Row row : prompt(rows_each)) {
        row.sequence = static_cast<std::int32_t>(s);
        row.wants_logits = true;
        rows.push_back(row);
      }
    }
    Context context;
    std::vector<float> logits;
    EXPECT_TRUE(model.forward(context, {sequences, rows, nullptr}, logits));
    return logits;
  };
  Sequence even = model.new_sequence(), odd = model.new_sequence();
  step({&even}, 200);
  step({&odd}, 201);
  ASSERT_EQ(odd.published_source(), even.published_source());
  Sequence even_alone = even.share(), odd_alone = odd.share();
  std::vector<float> want = step({&even_alone}, 1);
  const std::vector<float> second = step({&odd_alone}, 1);
  want.insert(want.end(), second.begin(), second.end());
  EXPECT_TRUE(step({&even, &odd}, 1) == want);
}

TEST(Draft, StagesReadTheMeanOfAllCopies) {
  const Config& c = mini_a().config();
  Sequence sequence = mini_a().new_sequence();
  Recorder seen;
  run(sequence, prompt(5), &seen);
  const auto dim = static_cast<std::size_t>(c.dim), copies = static_cast<std::size_t>(c.hc_mult);
  const auto& got = seen.values_.at("main_hidden");
  ASSERT_EQ(got.size(), 5u);
  for (std::size_t t = 0; t < c.dspark_target_layer_ids.size(); ++t) {
    const auto& in = seen.values_.at("layers." + std::to_string(c.dspark_target_layer_ids[t]) + ".in");
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t i = 0; i < dim; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < copies; ++k) sum += in[row][k * dim + i];
        EXPECT_NEAR(got[row][t * dim + i], sum / static_cast<double>(copies), 1e-5);
      }
    }
  }
}

TEST(Draft, FirstGoldenBlocksComeOut) {
  auto golden = GoldenFile::open(CACHALOT_BUILD_DIR "/golden/mini-a/cases/decode_f32_owner.safetensors");
  ASSERT_TRUE(golden) << golden.error().message;
  auto read = golden->read_all({{"input_ids", 'n', 2},
                                {"dspark.ids.50", 'n', 2},
                                {"dspark.logits.50", 'f', 3},
                                {"dspark.confidence.50", 'f', 2}});
  ASSERT_TRUE(read) << read.error().message;
  const GoldenTensor& ids = (*read)[0];
  std::vector<Sequence> sequences;
  for (int b = 0; b < 2; ++b) sequences.push_back(mini_a().new_sequence());
  Sequence* const both[] = {&sequences[0], &sequences[1]};
  std::vector<Row> rows;
  std::vector<TokenId> next;
  for (std::int32_t b = 0; b < 2; ++b) {
    const auto token = [&](std::int64_t p) {
      return TokenId{static_cast<std::int32_t>(ids.numbers[static_cast<std::size_t>(b * ids.last() + p)])};
    };
    for (std::int64_t p = 0; p <= 50; ++p) rows.push_back({.sequence = b, .token = token(p)});
    next.push_back(token(51));
  }
  Context context;
  std::vector<float> none;
  ASSERT_TRUE(mini_a().forward(context, {both, rows, nullptr}, none));
  const auto drafts = mini_a().draft(context, both, next);
  ASSERT_TRUE(drafts) << drafts.error().message;
  std::vector<std::int64_t> got;
  for (const TokenId t : drafts->ids) got.push_back(raw(t));
  EXPECT_EQ(got, (*read)[1].numbers);
  EXPECT_LT(error_stats(drafts->logits, (*read)[2].values).max, end_to_end_f32.max);
  EXPECT_LT(error_stats(drafts->confidence, (*read)[3].values).max, end_to_end_f32.max);
}

TEST(Draft, EveryPositionOfABlockSeesTheWindowAndTheWholeBlock) {
  const Config& c = mini_a().config();
  for (const std::int64_t length : {std::int64_t{1}, std::int64_t{7}, c.window_size + 2}) {
    Sequence sequence = mini_a().new_sequence();
    run(sequence, prompt(length));
    Recorder seen;
    Context context;
    Sequence* const one[] = {&sequence};
    const TokenId next[] = {TokenId{5}};
    ASSERT_TRUE(mini_a().draft(context, one, next, {}, &seen));
    std::vector<std::int64_t> want;
    for (std::int64_t p = std::max<std::int64_t>(0, length - c.window_size); p < length + c.dspark_block_size; ++p) {
      want.push_back(p);
    }
    for (std::int64_t stage = 0; stage < c.n_mtp_layers; ++stage) {
      const auto& lists = seen.numbers_.at("layers." + std::to_string(c.n_layers + stage) + ".attn.topk_idxs");
      ASSERT_EQ(static_cast<std::int64_t>(lists.size()), c.dspark_block_size);
      for (std::vector<std::int64_t> list : lists) {
        std::erase(list, -1);
        EXPECT_EQ(list, want) << "stage " << stage << " after " << length;
      }
    }
  }
}

}  // namespace
}  // namespace cachalot::forward_test
