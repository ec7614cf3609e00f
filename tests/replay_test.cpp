// SPDX-License-Identifier: Apache-2.0
// Replay (spec 11): a prompt's positions before its tail leave the global state and run no layer behind the last KV
// source. On mini-a: window 56, KV sources 2, 4 and 6 of 10 layers, Engram at 1 and 4, drafts that read layers 7 to 9.
#include "replay_runner.h"

#include "bits_settings.h"
#include "model/scratch_bytes.h"
#include "random_model.h"

namespace cachalot::replay_test {
namespace {

constexpr std::int64_t window = 56, tail_layer = 6, layers = 10;

// Whether the replayed positions have the logits of the other way.
::testing::AssertionResult same_logits(const std::vector<std::vector<float>>& replayed,
                                       const std::vector<std::vector<float>>& want, std::int64_t length) {
  for (std::size_t p = 0; p < static_cast<std::size_t>(length); ++p) {
    if (!replayed[p].empty() && !same_bits(replayed[p], want[p]))
      return ::testing::AssertionFailure() << "position " << p;
  }
  return ::testing::AssertionSuccess();
}

// What ran: rows by layer, and what each layer took in.
class Rows : public Observer {
 public:
  std::map<std::int64_t, std::int64_t> of_layer;         // rows that went through the whole layer
  std::map<std::int64_t, std::vector<float>> stream_in;  // of the layers up to the tail's first

  void values(std::string_view name, std::int64_t, Values<2> rows) override {
    if (!name.starts_with("layers.")) return;
    std::int64_t layer = 0;
    const auto end = std::from_chars(name.data() + 7, name.data() + name.size(), layer).ptr;
    const std::string_view what = name.substr(static_cast<std::size_t>(end - name.data()));
    if (what == ".out") of_layer[layer] += rows.extent(0);
    if (what == ".in" && layer <= tail_layer) {
      for (std::int64_t r = 0; r < rows.extent(0); ++r) {
        const auto row = std::as_const(rows)[r].floats();
        stream_in[layer].insert(stream_in[layer].end(), row.begin(), row.end());
      }
    }
  }
};

// Two replayed prompts with steps behind each: 150 positions and 20 more, then 100 and 10 more.
ReplayText two_prompts(std::int64_t vocab) { return replay_text(281, {{0, 94}, {170, 215}}, 1, vocab); }

void tail_rows_are_exact_rows_with_shorter_windows(Numerics numerics) {
  const Model& model = mini_a_cpu(numerics);
  const ReplayText text = two_prompts(model.config().vocab_size);
  const ShortWindowed want(model, text);
  const auto exact = [&] {
    Runner run(model, {random_rows(281, 1, model.config().vocab_size, 7)});
    run.step({281});
    return run.outcome(0).logits;
  }();
  Replayer replayed(model, {text});
  replayed.run(170, 150);
  replayed.run(281, 100);
  EXPECT_TRUE(same_logits(replayed.logits(), want.logits, 281));
  EXPECT_TRUE(same_bits(draft_behind(model, replayed.context(), replayed.sequence()), want.draft));
  EXPECT_EQ(replayed.sequence().tail_start(), 215);
  // What the lists leave out is read otherwise.
  for (const std::size_t p : {94u, 149u, 169u, 215u, 269u, 280u})
    EXPECT_FALSE(same_bits(replayed.logits()[p], exact[p])) << p;
  for (const std::size_t p : {0u, 93u, 170u, 214u}) EXPECT_TRUE(replayed.logits()[p].empty()) << p;
}
TEST(Replay, TailRowsAreExactRowsWithShorterWindowsReleased) {
  tail_rows_are_exact_rows_with_shorter_windows(Numerics::released);
}
TEST(Replay, TailRowsAreExactRowsWithShorterWindowsF32) {
  tail_rows_are_exact_rows_with_shorter_windows(Numerics::f32);
}

TEST(Replay, TheReferenceBackendTakesItLikewise) {
  const Model model = load_mini_a({.drafts = true});
  const ReplayText text = replay_text(75, {{0, 17}}, 3, model.config().vocab_size);
  const ShortWindowed want(model, text);
  Replayer replayed(model, {text});
  replayed.run(75, 73);
  EXPECT_TRUE(same_logits(replayed.logits(), want.logits, 75));
  EXPECT_TRUE(same_bits(draft_behind(model, replayed.context(), replayed.sequence()), want.draft));
}

TEST(Replay, OfAWholePromptThePublishedSlotIsTheSame) {
  const Model model = load_mini_a({.backend = &cpu_under_test(), .index_keys = IndexKeys::published_slot});
  const ReplayText text = replay_text(150, {{0, 94}}, 4, model.config().vocab_size);
  const ShortWindowed want(model, text);
  Replayer replayed(model, {text});
  replayed.run(150, 150);
  EXPECT_TRUE(same_logits(replayed.logits(), want.logits, 150));
  EXPECT_EQ(replayed.sequence().published_source(), want.sequence.published_source());
}

TEST(Replay, LayersBeforeTheTailAndTheGlobalStateAreExact) {
  const Model& model = mini_a_cpu(Numerics::released);
  for (const std::int64_t length : {57, 149, 150}) {  // 149: groups of 2 stay unfinished
    ReplayText text = replay_text(length, {{0, length - window}}, 5, model.config().vocab_size);
    Rows replayed_rows, exact_rows;
    Replayer replayed(model, {text});
    replayed.run(length, length, &replayed_rows);
    text.gaps.clear();
    for (Row& row : text.rows) row.global_only = false;
    Replayer exact(model, {text});
    exact.run(length, length, &exact_rows);
    EXPECT_EQ(exact_rows.stream_in.size(), static_cast<std::size_t>(tail_layer + 1));
    for (const auto& [layer, in] : exact_rows.stream_in)
      EXPECT_TRUE(same_bits(replayed_rows.stream_in[layer], in)) << "the stream into layer " << layer;
    EXPECT_TRUE(same_global_state(replayed.sequence(), exact.sequence())) << length;
    EXPECT_TRUE(replayed.sequence().replayed());
    EXPECT_FALSE(exact.sequence().replayed());
  }
}

TEST(Replay, LayersBehindTheLastSourceRunTheTailAlone) {
  const Model& model = mini_a_cpu(Numerics::released);
  for (const std::int64_t chunk : {1, 64, 200}) {
    Rows rows;
    Replayer replayed(model, {replay_text(200, {{0, 200 - window}}, 6, model.config().vocab_size)});
    replayed.run(200, chunk, &rows);
    for (std::int64_t l = 0; l < layers; ++l) EXPECT_EQ(rows.of_layer[l], l < tail_layer ? 200 : window) << l;
  }
}

// A window of layer L + k reaches back W - 1 positions of layer L + k - 1, and layer L's input is exact: so the
// approximation ends.
TEST(Replay, IsExactAgainOnceTheWindowsOfAllLayersAreWhole) {
  const Model& model = mini_a_cpu(Numerics::released);
  constexpr std::int64_t start = 10, whole = start + (layers - tail_layer) * (window - 1), length = whole + window + 8;
  const auto text = replay_text(length, {{0, start}}, 7, model.config().vocab_size);
  Replayer replayed(model, {text});
  replayed.run(length, length);
  ReplayText plain = text;
  for (Row& row : plain.rows) row.global_only = false;
  Replayer exact(model, {plain});
  exact.run(length, length);
  for (std::int64_t p = whole; p < length; ++p) {
    EXPECT_TRUE(same_bits(replayed.logits()[static_cast<std::size_t>(p)], exact.logits()[static_cast<std::size_t>(p)]))
        << p;
  }
  EXPECT_FALSE(same_bits(replayed.logits()[whole - 60], exact.logits()[whole - 60])) << "hardly so long before";
  EXPECT_TRUE(same_bits(draft_behind(model, replayed.context(), replayed.sequence()),
                        draft_behind(model, exact.context(), exact.sequence())));
}

TEST(Replay, ChunksAndCompanyChangeNoBit) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model& model = mini_a_cpu(numerics);
    const std::int64_t vocab = model.config().vocab_size;
    const ReplayText text = two_prompts(vocab);
    Replayer whole(model, {text});
    whole.run(170, 170);
    whole.run(281, 200);
    for (const std::int64_t chunk : {1, 7, 64}) {
      Replayer chunked(model, {text});
      chunked.run(281, chunk);
      EXPECT_TRUE(same_logits(chunked.logits(), whole.logits(), 281)) << chunk;
      EXPECT_TRUE(same_bits(draft_behind(model, chunked.context(), chunked.sequence()),
                            draft_behind(model, whole.context(), whole.sequence())));
    }
    // Between one that has its tail already, one that is all prompt in these steps, and an exact one.
    Replayer batch(model, {replay_text(90, {{0, 3}}, 8, vocab), text, replay_text(300, {{0, 290}}, 9, vocab),
                           replay_text(90, {}, 10, vocab)});
    const std::vector<std::int64_t> steps[] = {
        {30, 90, 90, 1}, {1, 30, 1, 60}, {5, 50, 100, 1}, {1, 70, 1, 1}, {9, 41, 108, 2}};
    for (const auto& step : steps) ASSERT_TRUE(batch.step(step));
    EXPECT_TRUE(same_logits(batch.logits(1), whole.logits(), 281));
    Replayer other(model, {replay_text(300, {{0, 290}}, 9, vocab)});
    other.run(300, 300);
    EXPECT_TRUE(same_logits(batch.logits(2), other.logits(), 300));
    Replayer exact(model, {replay_text(90, {}, 10, vocab)});
    exact.run(65, 65);
    EXPECT_TRUE(same_logits(batch.logits(3), exact.logits(), 65));
    EXPECT_FALSE(batch.sequence(3).replayed());
  }
}

TEST(Replay, AnyShapeOfModelTakesIt) {
  std::int64_t replayed_models = 0;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    const RandomModel random(seed);
    const auto model = random.load(cpu_under_test(), seed % 2 == 0 ? Numerics::released : Numerics::f32);
    ASSERT_TRUE(model) << model.error().message;
    const ReplayText text = replay_text(120, {{0, 40}, {81, 100}}, seed, model->config().vocab_size);
    Replayer replayed(*model, {text});
    if (!model->has_tail()) {  // nothing to leave out: all rows run as they always do
      ReplayText plain = text;
      for (Row& row : plain.rows) row.global_only = false;
      Replayer exact(*model, {plain});
      replayed.run(120, 50);
      exact.run(120, 50);
      EXPECT_TRUE(same_logits(replayed.logits(), exact.logits(), 120)) << random.config();
      EXPECT_FALSE(replayed.sequence().replayed());
      continue;
    }
    ++replayed_models;
    const ShortWindowed want(*model, text);
    replayed.run(120, 50);
    EXPECT_TRUE(same_logits(replayed.logits(), want.logits, 120)) << random.config();
    EXPECT_TRUE(same_global_state(replayed.sequence(), want.sequence)) << random.config();
    if (!want.draft.empty()) {
      EXPECT_TRUE(same_bits(draft_behind(*model, replayed.context(), replayed.sequence()), want.draft))
          << random.config();
    }
  }
  EXPECT_GT(replayed_models, 10);
}

TEST(Replay, GoesBackAsFarAsWholeWindowsAndComputesTheSameAgain) {
  const Model& model = mini_a_cpu(Numerics::released);
  const ReplayText text = replay_text(170, {{0, 94}}, 11, model.config().vocab_size);
  Replayer whole(model, {text}), again(model, {text});
  whole.run(170, 170);
  again.run(160, 160);
  EXPECT_EQ(again.sequence().reachable(), 94 + window - 1);
  EXPECT_FALSE(again.sequence().truncate(148));
  ASSERT_TRUE(again.sequence().truncate(149));
  again.run(170, 9);
  EXPECT_TRUE(same_logits(again.logits(), whole.logits(), 170));
}

TEST(Replay, AStepThatStopsAmongTheTailsLayersLeavesNoTrace) {
  const Model& model = mini_a_cpu(Numerics::released);
  const ReplayText text = replay_text(100, {{0, 44}}, 12, model.config().vocab_size);
  Replayer plain(model, {text}), stopped(model, {text});
  plain.run(100, 60);
  ASSERT_TRUE(stopped.step({20}));
  for (int before = 0; before < layers; before += 3) {
    int asked = 0;
    const std::function<bool()> stop = [&] { return asked++ == before; };
    const Status ran = stopped.step({40}, nullptr, &stop);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, Errc::stopped);
    EXPECT_EQ(stopped.sequence().length(), 20);
    EXPECT_EQ(stopped.sequence().tail_start(), 20);
  }
  stopped.run(100, 60);
  EXPECT_TRUE(same_logits(stopped.logits(), plain.logits(), 100));
}

TEST(Replay, RowsInTheWrongPlaceAreRefused) {
  const Model& model = mini_a_cpu(Numerics::released);
  Sequence a = model.new_sequence(), b = model.new_sequence();
  Sequence* const sequences[] = {&a, &b};
  Context context(1, model.memory());
  std::vector<float> logits;
  const auto error = [&](const std::vector<Row>& rows) {
    const Status ran = model.forward(context, {sequences, rows}, logits);
    EXPECT_EQ(a.length() + b.length(), 0);
    return ran ? std::string() : std::string(ran.error().message);
  };
  const Row plain{.token = TokenId{5}}, global{.token = TokenId{5}, .global_only = true};
  Row wants = global, second = global;
  wants.wants_logits = true;
  second.sequence = 1;
  EXPECT_NE(error({wants}).find("wants logits"), std::string::npos);
  EXPECT_NE(error({global, plain, global}).find("stand behind others"), std::string::npos);
  EXPECT_EQ(model.forward(context, {sequences, std::vector<Row>{global, plain, second}}, logits).has_value(), true)
      << "of another sequence they may follow";
}

TEST(Replay, TakesNoMoreScratchThanAnExactStepAndItsTables) {
  for (const std::int64_t tail : {0, 1, 40, 63}) {
    for (const bool drafts : {false, true}) {
      const Model model = load_mini_a({.backend = &cpu_under_test(), .drafts = drafts});
      ReplayText text = replay_text(64, {{0, 64 - tail}}, 13, model.config().vocab_size);
      for (Row& row : text.rows) row.wants_logits = false;
      Replayer replayed(model, {text}, 2);
      replayed.run(64, 64);
      const std::int64_t foreseen = scratch_bytes(
          model.config(), {.rows = 64, .positions = 64, .logits = 0, .threads = 2, .drafts = drafts, .drops = true});
      EXPECT_LE(replayed.context().scratch.peak_bytes(), foreseen) << tail;
    }
  }
}

}  // namespace
}  // namespace cachalot::replay_test
