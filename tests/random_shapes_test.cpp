// SPDX-License-Identifier: Apache-2.0
// Models of random shapes: the two backends compute the same, and each gives the same bits whatever the steps.
#include <fmt/format.h>

#include "random_model.h"
#include "sequence_runner.h"
#include "twin.h"

namespace cachalot::random_shapes_test {
namespace {

void backends_agree(std::uint32_t seed) {
  const RandomModel made(seed);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, made.config()));
  const auto reference = made.load(reference_backend(), Numerics::f32), cpu = made.load(cpu_backend(), Numerics::f32);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
  const std::int64_t vocab = reference->config().vocab_size;
  const auto rows = random_rows(30 + seed % 40, seed, vocab);
  Twin truth;
  const auto want = run_with(*reference, rows, truth);

  // Every operator by itself. Beyond 1e-5 is only what reads a window KV whose fp8 code fell to the other side of a
  // tie.
  Twin fed(truth, true);
  const auto behind = run_with(*cpu, rows, fed);
  EXPECT_TRUE(fed.flips().empty()) << fmt::format("{}", fmt::join(fed.flips(), ", "));
  EXPECT_LE(quantile(row_errors(behind, want, vocab).max, 1), 1e-5);
  const auto errors = fed.errors();
  EXPECT_LE(errors.front().first, 1e-3) << errors.front().second;
  const auto off = std::ranges::count_if(errors, [](const auto& e) { return e.first > 1e-5; });
  EXPECT_LE(off * 100, std::ssize(errors)) << off << " rows, the first " << errors.front().second;
  EXPECT_TRUE(off == 0 || !fed.ring_flips().empty()) << off << " rows, the first " << errors.front().second;

  // The whole run. Random weights are chaotic: once something is selected or encoded otherwise, all is allowed.
  Twin free(truth, false);
  const auto got = run_with(*cpu, rows, free);
  const double median = quantile(row_errors(got, want, vocab).max, 0.5);
  EXPECT_TRUE(median <= 1e-4 || !free.flips().empty() || !free.ring_flips().empty()) << median;
}

void any_schedule_is_one_by_one(std::uint32_t seed, const Backend& backend, std::int64_t longest, int schedules) {
  const RandomModel made(seed);
  SCOPED_TRACE(fmt::format("seed {}, {}: {}", seed, backend.name, made.config()));
  const auto model = made.load(backend, seed % 2 == 0 ? Numerics::released : Numerics::f32);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const bool drafts = model->options().drafts;
  std::vector<std::vector<Row>> texts;
  std::vector<Outcome> want;
  std::mt19937 random(seed);
  for (std::uint32_t s = 0; s < 2; ++s) {
    texts.push_back(random_rows(1 + random() % longest, seed + s, model->config().vocab_size));
    Runner alone(*model, {texts.back()});
    alone.one_by_one(alone.left(), drafts);
    want.push_back(alone.outcome(0));
  }
  for (int schedule = 0; schedule < schedules; ++schedule) {
    Runner run(*model, texts, 1 + static_cast<int>(random() % 3));
    run_random_schedule(run, 2, random, model->state_shape().slack, drafts);
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(first_difference(run.outcome(s), want[s], static_cast<std::int64_t>(texts[s].size())), -1);
    }
  }
}

TEST(RandomShapes, BackendsAgree) {
  for (std::uint32_t seed = 0; seed < 8; ++seed) backends_agree(seed);
}
TEST(RandomShapes, AnyScheduleIsOneByOneWithTheReference) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) any_schedule_is_one_by_one(seed, reference_backend(), 30, 1);
}
TEST(RandomShapes, AnyScheduleIsOneByOneOnTheCpu) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) any_schedule_is_one_by_one(seed, cpu_backend(), 60, 2);
}

TEST(SlowRandomShapes, BackendsAgree) {
  for (std::uint32_t seed = 100; seed < 180; ++seed) backends_agree(seed);
}
TEST(SlowRandomShapes, AnyScheduleIsOneByOneWithTheReference) {
  for (std::uint32_t seed = 100; seed < 125; ++seed) any_schedule_is_one_by_one(seed, reference_backend(), 60, 1);
}
TEST(SlowRandomShapes, AnyScheduleIsOneByOneOnTheCpu) {
  // 2,000 schedules.
  for (std::uint32_t seed = 100; seed < 300; ++seed) any_schedule_is_one_by_one(seed, cpu_backend(), 100, 10);
}

}  // namespace
}  // namespace cachalot::random_shapes_test
