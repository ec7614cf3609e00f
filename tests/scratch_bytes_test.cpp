// SPDX-License-Identifier: Apache-2.0
// Scratch as it is foreseen, against what the arena of a real step says.
#include "model/scratch_bytes.h"

#include "random_model.h"
#include "sequence_runner.h"

namespace cachalot::scratch_bytes_test {
namespace {

constexpr std::int64_t step_rows[] = {1, 7, 64};

// Rows of each sequence in turn, the first `logits` of which want them.
std::vector<Row> rows_of(std::int64_t sequences, std::int64_t rows, std::int64_t logits, std::int64_t vocab) {
  std::vector<Row> all;
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (Row row : random_rows(rows, static_cast<std::uint32_t>(rows + s), vocab)) {
      row.sequence = static_cast<std::int32_t>(s);
      row.wants_logits = static_cast<std::int64_t>(all.size()) < logits;
      all.push_back(row);
    }
  }
  return all;
}

// foreseen / real, of a step behind `before` positions of each sequence, and of a draft block where there are stages.
double compare(const Model& model, StepShape step, std::int64_t before) {
  std::vector<Sequence> state;
  std::vector<Sequence*> sequences;
  for (std::int64_t s = 0; s < step.sequences; ++s) state.push_back(model.new_sequence());
  for (Sequence& s : state) sequences.push_back(&s);
  std::vector<float> logits;
  const auto run = [&](Context& context, std::int64_t rows, std::int64_t wanted) {
    const std::vector<Row> all = rows_of(step.sequences, rows, wanted, model.config().vocab_size);
    const Status ran = model.forward(context, {sequences, all, nullptr}, logits);
    EXPECT_TRUE(ran) << ran.error().message;
  };
  Context way, context(static_cast<int>(step.threads));
  if (before > 0) run(way, before, 0);
  run(context, step.rows / step.sequences, step.logits);
  step.drafts = model.options().drafts;
  if (step.drafts) {
    const auto drafts = model.draft(context, sequences, std::vector<TokenId>(sequences.size(), TokenId{1}));
    EXPECT_TRUE(drafts) << drafts.error().message;
  }
  step.positions = before + step.rows / step.sequences;
  step.numerics = model.options().numerics;
  const auto real = static_cast<double>(context.scratch.peak_bytes());
  const auto foreseen = static_cast<double>(scratch_bytes(model.config(), step));
  EXPECT_GE(foreseen, real) << step.rows << " rows behind " << before << ", threads " << step.threads;
  return foreseen / real;
}

void compare_steps(std::initializer_list<std::int64_t> threads, std::initializer_list<std::int64_t> lengths) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    for (const bool drafts : {false, true}) {
      const Model model = load_mini_a({.backend = &cpu_backend(), .numerics = numerics, .drafts = drafts});
      for (const std::int64_t n : threads) {
        for (const std::int64_t rows : step_rows) {
          for (const std::int64_t before : lengths) {
            EXPECT_LE(compare(model, {.rows = rows, .threads = n}, before), 1.05)
                << rows << " rows behind " << before << ", threads " << n;
          }
        }
      }
    }
  }
}

TEST(ScratchBytes, OfAnyStepAreNeverMoreThanForeseenAndHardlyLess) { compare_steps({1, 16}, {70}); }
TEST(SlowScratchBytes, OfAnyStepAreNeverMoreThanForeseenAndHardlyLess) { compare_steps({1, 2, 3, 64}, {0, 45, 200}); }

TEST(ScratchBytes, OfSeveralSequencesAndManyLogitsAreForeseen) {
  const Model model = load_mini_a({.backend = &cpu_backend(), .drafts = true});
  EXPECT_LE(compare(model, {.rows = 5, .sequences = 5, .logits = 5, .threads = 2}, 33), 1.05);
  EXPECT_LE(compare(model, {.rows = 63, .sequences = 3, .logits = 63, .threads = 2}, 33), 1.05);
  EXPECT_LE(compare(model, {.rows = 64, .sequences = 2, .logits = 0, .threads = 2}, 0), 1.05);
}

// The few experts of such a model are chosen by fewer rows than the worst case has, which shows in small models.
void compare_random_shapes(std::uint32_t first, std::uint32_t last) {
  double sum = 0;
  int steps = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const RandomModel random(seed);
    const auto model = random.load(cpu_backend(), seed % 2 == 0 ? Numerics::released : Numerics::f32);
    ASSERT_TRUE(model) << model.error().message;
    for (const std::int64_t rows : {1, 7, 40}) {
      for (const std::int64_t before : {0, 61}) {
        const double ratio = compare(*model, {.rows = rows, .threads = 1 + seed % 5}, before);
        EXPECT_LE(ratio, 1.3) << rows << " rows behind " << before << " of\n" << random.config();
        sum += ratio;
        ++steps;
      }
    }
  }
  EXPECT_LE(sum / steps, 1.02);
}

TEST(ScratchBytes, OfModelsOfRandomShapesAreForeseen) { compare_random_shapes(0, 11); }
TEST(SlowScratchBytes, OfModelsOfRandomShapesAreForeseen) { compare_random_shapes(12, 80); }

TEST(SlowScratchBytes, OfTheBundledModelAtALengthThatSelectsAreForeseen) {
  auto loaded = load_model(CACHALOT_TEST_DATA "/../../models/prototype", {.backend = &cpu_backend(), .drafts = true});
  ASSERT_TRUE(loaded) << loaded.error().message;
  for (const std::int64_t rows : {1, 256}) EXPECT_LE(compare(loaded->model, {.rows = rows, .threads = 2}, 900), 1.05);
}

}  // namespace
}  // namespace cachalot::scratch_bytes_test
