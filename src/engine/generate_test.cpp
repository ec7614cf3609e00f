// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <gtest/gtest.h>

#include "checkpoint/test_checkpoint.h"
#include "engine/test_generate.h"

namespace cachalot::generate_test {
namespace {

TEST(Generate, MakesAsManyTokensAsAskedFor) {
  for (const std::int64_t n : {0, 1, 5}) {
    const auto g = run(tokens(4), {.max_tokens = n});
    ASSERT_TRUE(g);
    EXPECT_EQ(static_cast<std::int64_t>(g->choices[0].tokens.size()), n);
    EXPECT_EQ(g->choices[0].end, EndReason::length);
  }
}

TEST(Generate, StopsAtAStopTokenAndKeepsIt) {
  const auto all = ids(run(tokens(4), {.max_tokens = 6})->choices[0]);
  GenerateOptions options{.max_tokens = 6};
  options.stop_tokens = {all[2]};
  const auto g = run(tokens(4), options);
  ASSERT_TRUE(g);
  EXPECT_EQ(g->choices[0].end, EndReason::stop);
  EXPECT_EQ(ids(g->choices[0]).back(), all[2]);
  EXPECT_LE(g->choices[0].tokens.size(), 3u);
}

TEST(Generate, GivesTheSameTokensWhateverTheChunk) {
  const GenerateOptions whole{.max_tokens = 4, .sampling = {.temperature = 1, .seed = 5}, .chunk = 1000};
  const auto want = ids(run(tokens(70), whole)->choices[0]);
  for (const std::int64_t chunk : {1, 7, 64}) {
    GenerateOptions o = whole;
    o.chunk = chunk;
    EXPECT_EQ(ids(run(tokens(70), o)->choices[0]), want) << "chunk " << chunk;
  }
}

TEST(Generate, EndsWhereTheContextEnds) {
  const std::int64_t context = mini().model.config().max_seq_len;
  const auto g = run(tokens(context - 2), {.max_tokens = 10});
  ASSERT_TRUE(g);
  EXPECT_EQ(g->choices[0].end, EndReason::context);
  EXPECT_EQ(g->choices[0].tokens.size(), 3u);  // two more positions, and what follows the last one
}

TEST(Generate, RefusesWhatCannotBeRun) {
  EXPECT_EQ(run({}, {}).error().code, Errc::usage);
  const auto long_prompt = run(tokens(mini().model.config().max_seq_len + 1), {});
  ASSERT_FALSE(long_prompt);
  EXPECT_NE(long_prompt.error().message.find("513"), std::string::npos) << long_prompt.error().message;
  EXPECT_NE(long_prompt.error().message.find("512"), std::string::npos) << long_prompt.error().message;
  EXPECT_EQ(run({TokenId{497}}, {}).error().code, Errc::range);
  EXPECT_EQ(run({TokenId{-1}}, {}).error().code, Errc::range);
}

TEST(Generate, LogitsThatAreNoNumbersAreAnErrorAndNoText) {
  EditedCheckpoint edited;
  TensorData& head = edited["head.weight"];  // too large to be looked at when it is loaded
  const std::vector<std::byte> all_nan(head.data.size(), std::byte{0xFF});  // bf16 NaN
  head.data = all_nan;
  ASSERT_TRUE(edited.open().has_value());
  std::filesystem::copy_file(CACHALOT_BUILD_DIR "/golden/mini-a/tokenizer.json", edited.path() / "tokenizer.json");
  const auto loaded = load_model(edited.path(), {});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  Context context;
  Sequence sequence = loaded->model.new_sequence();
  const auto g = generate(*loaded, context, sequence, tokens(4), {.max_tokens = 2}, {});
  ASSERT_FALSE(g.has_value());
  EXPECT_NE(g.error().message.find("position 3 are not numbers"), std::string::npos) << g.error().message;
}

TEST(Generate, AnErrorOfALaterRoundIsTheRequestsErrorAtItsPosition) {
  EditedCheckpoint edited;  // only what follows one token is no number
  const TokenId bad{11};
  TensorData& embedding = edited["embed.weight"];
  std::vector<std::byte> bytes(embedding.data.begin(), embedding.data.end());
  const std::size_t row = bytes.size() / static_cast<std::size_t>(mini().model.config().vocab_size);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(11 * row), row, std::byte{0xFF});  // bf16 NaN
  embedding.data = bytes;
  ASSERT_TRUE(edited.open().has_value());
  std::filesystem::copy_file(CACHALOT_BUILD_DIR "/golden/mini-a/tokenizer.json", edited.path() / "tokenizer.json");
  const auto loaded = load_model(edited.path(), {});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  for (const std::int64_t choices : {1, 2}) {
    GenerateOptions options{.max_tokens = 20, .choices = choices};
    options.sampling.logit_bias = {{bad, 1000.0}};
    std::size_t made = 0;
    Context context;
    Sequence sequence = loaded->model.new_sequence();
    const auto g = generate(*loaded, context, sequence, tokens(4), options,
                            {.token = [&](const GeneratedToken& t) { made += t.id == bad ? 1 : 100; }});
    ASSERT_FALSE(g.has_value());
    EXPECT_NE(g.error().message.find("position 4 are not numbers"), std::string::npos) << g.error().message;
    EXPECT_EQ(made, static_cast<std::size_t>(choices)) << "one token each, and nothing behind it";
    EXPECT_EQ(sequence.length(), 5);
  }
}

TEST(Generate, EndsBetweenStepsWhenInterrupted) {
  int made = 0;
  const auto g = run(tokens(4), {.max_tokens = 10},
                     {.token = [&](const GeneratedToken&) { ++made; }, .interrupted = [&] { return made == 2; }});
  ASSERT_TRUE(g);
  EXPECT_EQ(g->choices[0].end, EndReason::interrupted);
  EXPECT_EQ(g->choices[0].tokens.size(), 2u);
}

TEST(Generate, AnInterruptWithinAStepEndsItThereAndWhatWasCommittedGoesOn) {
  const std::int64_t layers = mini().model.config().n_layers;
  const GenerateOptions options{.max_tokens = 3, .chunk = 8};
  const auto whole = run(tokens(16), options);
  ASSERT_TRUE(whole);
  struct Case {
    std::int64_t asks, committed;
    std::size_t made;
  };
  // Asked before each layer of two chunks, once behind the prompt, then before and in each step of one row.
  for (const Case c : {Case{0, 0, 0},
                       {layers - 1, 0, 0},
                       {layers, 8, 0},
                       {2 * layers - 1, 8, 0},
                       {2 * layers, 16, 0},
                       {2 * layers + 4, 16, 1},
                       {3 * layers + 1, 16, 1},
                       {3 * layers + 2, 17, 2}}) {
    Context context;
    Sequence sequence = mini().model.new_sequence();
    std::int64_t asked = 0;
    const auto g =
        generate(mini(), context, sequence, tokens(16), options, {.interrupted = [&] { return asked++ >= c.asks; }});
    ASSERT_TRUE(g) << g.error().message;
    EXPECT_EQ(g->choices[0].end, EndReason::interrupted) << c.asks;
    EXPECT_EQ(g->choices[0].tokens.size(), c.made) << c.asks;
    ASSERT_EQ(sequence.length(), c.committed) << c.asks;
    EXPECT_EQ(g->run_tokens, std::min<std::int64_t>(c.committed, 16)) << c.asks;
    if (c.committed > 8) continue;
    const std::vector<TokenId> all = tokens(16);
    const auto rest = std::span(all).subspan(static_cast<std::size_t>(c.committed));
    const auto after = generate(mini(), context, sequence, rest, options);
    ASSERT_TRUE(after);
    EXPECT_EQ(ids(after->choices[0]), ids(whole->choices[0])) << c.asks;
  }
}

TEST(Generate, TellsThePromptsProgressAndEachTokenOnce) {
  std::vector<std::int64_t> done;
  std::vector<TokenId> told;
  const auto g = run(tokens(10), {.max_tokens = 3, .chunk = 4},
                     {.prompt = [&](std::int64_t n, std::int64_t) { done.push_back(n); },
                      .token = [&](const GeneratedToken& t) { told.push_back(t.id); }});
  ASSERT_TRUE(g);
  EXPECT_EQ(done, (std::vector<std::int64_t>{4, 8, 10}));
  EXPECT_EQ(told, ids(g->choices[0]));
}

TEST(Generate, ReportsTheLikeliestTokensOfEveryStep) {
  const auto g = run(tokens(5), {.max_tokens = 3, .logprobs = 4});
  ASSERT_TRUE(g);
  for (const GeneratedToken& t : g->choices[0].tokens) {
    ASSERT_EQ(t.top.size(), 4u);
    EXPECT_EQ(t.top[0].id, t.id);  // greedy
    EXPECT_EQ(t.top[0].logprob, t.logprob);
    EXPECT_LT(t.logprob, 0);
  }
}

TEST(Forward, AStepThatIsRefusedLeavesTheSequenceAlone) {
  Context context;
  Sequence sequence = mini().model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  const Row good[] = {{.token = TokenId{5}, .wants_logits = true}};
  ASSERT_TRUE(mini().model.forward(context, {one, good, nullptr}, logits));
  const Row bad[] = {{.token = TokenId{5}}, {.token = TokenId{100000}}};
  EXPECT_FALSE(mini().model.forward(context, {one, bad, nullptr}, logits));
  EXPECT_EQ(sequence.length(), 1);
  const Row apart[] = {{.sequence = 1, .token = TokenId{5}}};
  EXPECT_FALSE(mini().model.forward(context, {one, apart, nullptr}, logits));
  EXPECT_TRUE(mini().model.forward(context, {one, {}, nullptr}, logits));  // nothing to do
  EXPECT_EQ(sequence.length(), 1);
}

}  // namespace
}  // namespace cachalot::generate_test
