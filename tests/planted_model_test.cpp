// SPDX-License-Identifier: Apache-2.0
// What make-checkpoint plants is really met by a forward: ties where a choice ends, and values beyond the clamp. The
// backends agree there.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"
#include "engine/load_model.h"
#include "sequence_runner.h"
#include "twin.h"

namespace cachalot::planted_model_test {
namespace {

class PlantedModel {
 public:
  explicit PlantedModel(const Plants& plants) {
    const auto made = make_checkpoint({.config = mini_a() / "config.json",
                                       .out = folder_.path(),
                                       .tokenizer = mini_a() / "tokenizer.json",
                                       .seed = 3,
                                       .plants = plants});
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  Model load(const Backend& backend) const {
    auto loaded = load_model(folder_.path(), {.backend = &backend, .numerics = Numerics::f32});
    check(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
    return std::move(loaded->model);
  }

 private:
  TestFolder folder_;
};

constexpr std::int64_t rows_run = 80;

// Every operator of the cpu backend on the reference's inputs.
void expect_agreement(const PlantedModel& made, const Twin& truth, std::span<const float> want) {
  const Model cpu = made.load(cpu_backend());
  const std::int64_t vocab = cpu.config().vocab_size;
  Twin fed(truth, true);
  const auto got = run_with(cpu, random_rows(rows_run, 9, vocab), fed);
  EXPECT_TRUE(fed.flips().empty()) << fmt::format("{}", fmt::join(fed.flips(), ", "));
  EXPECT_LE(quantile(row_errors(got, want, vocab).max, 1), 1e-5);
  const auto errors = fed.errors();
  const auto off = std::ranges::count_if(errors, [](const auto& e) { return e.first > 1e-5; });
  EXPECT_TRUE(off == 0 || !fed.ring_flips().empty()) << off << " rows, the first " << errors.front().second;
}

TEST(PlantedModel, EveryChoiceOfExpertsEndsInATieAndTheLowerWins) {
  const PlantedModel made({.ties = true});
  Twin truth;
  const Model reference = made.load(reference_backend());
  const auto logits = run_with(reference, random_rows(rows_run, 9, reference.config().vocab_size), truth);
  int choices = 0;
  for (const auto& [place, chosen] : truth.seen_numbers()) {
    if (place.find("ffn.gate_indices") == place.npos) continue;
    ++choices;
    // Groups of 3 have equal rows and biases, and the best 2 cut one.
    ASSERT_EQ(chosen.size(), 2u);
    EXPECT_EQ(chosen[1], chosen[0] + 1) << place;
    EXPECT_TRUE(chosen[0] % 3 == 0) << place << " chose " << chosen[0];
  }
  EXPECT_EQ(choices, 10 * rows_run);
  // The head's rows are equal in pairs, so the best token always has a twin.
  const std::int64_t vocab = reference.config().vocab_size;
  for (std::int64_t row = 0; row < rows_run; ++row) {
    const auto of_row =
        std::span(logits).subspan(static_cast<std::size_t>(row * vocab), static_cast<std::size_t>(vocab));
    const Best best = best_of(of_row);
    EXPECT_EQ(best.index % 2, 0) << row;
    EXPECT_TRUE(best.margin == 0 || best.index == vocab - 1) << row;
  }
  expect_agreement(made, truth, logits);
}

TEST(PlantedModel, SelectionsEndInATieAndTheLowerGroupWins) {
  const PlantedModel made({.ties = true});
  Twin truth;
  const Model reference = made.load(reference_backend());
  (void)run_with(reference, random_rows(rows_run, 9, reference.config().vocab_size), truth);
  int ties = 0;
  for (const auto& [place, score] : truth.seen_values()) {
    // Later index sources choose inside candidate blocks only.
    const std::string from = "layers.2.attn.indexer.score";
    if (!place.starts_with(from)) continue;
    const auto& chosen = truth.seen_numbers().at("layers.2.attn.indexer.topk_idxs" + place.substr(from.size()));
    float worst = INFINITY;
    for (const std::int64_t group : chosen) {
      if (group >= 0) worst = std::min(worst, score[static_cast<std::size_t>(group)]);
    }
    // Who has the worst chosen score and is not chosen lies above all who have it and are.
    bool tie = false, left_out = false;
    for (std::size_t group = 0; group < score.size(); ++group) {
      if (score[group] != worst) continue;
      const bool is_chosen = std::ranges::find(chosen, static_cast<std::int64_t>(group)) != chosen.end();
      EXPECT_FALSE(is_chosen && left_out) << place;
      left_out = left_out || !is_chosen;
      tie = tie || !is_chosen;
    }
    ties += tie;
  }
  EXPECT_GT(ties, 40);  // rows with more than 12 visible groups: those from 26 on
}

// Counts values that the clamp holds back: of gate (up to the limit only), and of up (from both sides).
struct Beyond {
  std::atomic<std::int64_t> gate = 0, gate_below = 0, up = 0, up_below = 0, all = 0;
};
Beyond beyond;

void counting_expert_ffn(Context& context, const ExpertFfnArgs& args) {
  for (std::int64_t row = 0; row < args.x.extent(0); ++row) {
    for (std::int64_t k = 0; k < args.expert.extent(1); ++k) {
      const ExpertWeights& expert = args.experts[static_cast<std::size_t>(args.expert[row][k])];
      const Arena::Frame frame(context.scratch);
      const auto gate = context.scratch.take<float, 2>({1, expert.w1.out}),
                 up = context.scratch.take<float, 2>(gate.shape());
      const ConstValues<2> x(args.x[row].data(), args.x.type(), {1, args.x.extent(1)});
      linear_ref(context, {x, expert.w1, gate});
      linear_ref(context, {x, expert.w3, up});
      for (std::int64_t i = 0; i < expert.w1.out; ++i) {
        beyond.gate += gate[0][i] > args.limit;
        beyond.gate_below += gate[0][i] < -args.limit;
        beyond.up += up[0][i] > args.limit;
        beyond.up_below += up[0][i] < -args.limit;
        ++beyond.all;
      }
    }
  }
  expert_ffn_ref(context, args);
}

TEST(PlantedModel, ClampsAreMetOnEverySideAndTheBackendsAgree) {
  const PlantedModel made({.clamps = true});
  Backend counting = reference_backend();
  counting.expert_ffn = counting_expert_ffn;
  Twin truth;
  const Model reference = made.load(counting);
  const auto logits = run_with(reference, random_rows(rows_run, 9, reference.config().vocab_size), truth);
  for (const std::atomic<std::int64_t>* side : {&beyond.gate, &beyond.gate_below, &beyond.up, &beyond.up_below}) {
    EXPECT_GT(*side * 100, beyond.all * 10);  // more than a tenth of all values
    EXPECT_LT(*side * 100, beyond.all * 40);
  }
  expect_agreement(made, truth, logits);
}

TEST(PlantedModel, BothAtOnceStayFiniteAndTheBackendsAgree) {
  const PlantedModel made({.ties = true, .clamps = true});
  Twin truth;
  const Model reference = made.load(reference_backend());
  const auto logits = run_with(reference, random_rows(rows_run, 9, reference.config().vocab_size), truth);
  EXPECT_TRUE(std::ranges::all_of(logits, [](float v) { return std::isfinite(v); }));
  expect_agreement(made, truth, logits);
}

}  // namespace
}  // namespace cachalot::planted_model_test
