// SPDX-License-Identifier: Apache-2.0
// The bundled model predicts a text as the code that trained it does: nats of each token, in both numerics.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/perplexity.h"
#include "verify/golden_file.h"

namespace cachalot::demo_text_test {
namespace {

// Two programs that round to bf16 and fp8 part after a few layers, and choose other experts and groups where scores are
// close; the errors have no sign, so the mean is far closer than a token.
constexpr double mean_share = 0.005;
// Catches a token out of its place, which is nats off; rounding alone makes 0.16 in `released`, 0.011 in f32.
constexpr double token_rms = 0.5;

class DemoText : public testing::TestWithParam<Numerics> {};

TEST_P(DemoText, IsPredictedAsByTheTrainingCode) {
  const bool f32 = GetParam() == Numerics::f32;
  auto golden = GoldenFile::open(CACHALOT_TEST_DATA "/demo/nll.safetensors");
  ASSERT_TRUE(golden) << golden.error().message;
  const auto read = golden->read_all({{"input_ids", 'n', 1}, {f32 ? "nll_f32" : "nll_released", 'f', 1}});
  ASSERT_TRUE(read) << read.error().message;
  const auto& [ids, want] = *read;
  ASSERT_EQ(ids.numbers.size(), want.values.size() + 1);

  const auto loaded =
      load_model(CACHALOT_TEST_DATA "/../../models/demo", {.backend = &cpu_backend(), .numerics = GetParam()});
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(ids.numbers[0], loaded->model.config().bos_token_id);
  std::vector<TokenId> text;
  for (std::size_t i = 1; i < ids.numbers.size(); ++i)
    text.push_back(TokenId{static_cast<std::int32_t>(ids.numbers[i])});

  // A step for each token, so that each is judged by itself too.
  Context context;
  std::vector<double> nats;
  double before = 0;
  PerplexityEvents events;
  events.scored = [&](const TextScore& so_far) {
    nats.push_back(so_far.nats - before);
    before = so_far.nats;
  };
  const auto score = score_tokens(*loaded, context, text, {.context = 2048, .chunk = 1}, events);
  ASSERT_TRUE(score) << score.error().message;
  ASSERT_EQ(nats.size(), want.values.size());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < nats.size(); ++i) {
    sum += static_cast<double>(want.values[i]);
    squares += std::pow(nats[i] - static_cast<double>(want.values[i]), 2);
  }
  EXPECT_NEAR(score->nats / sum, 1, mean_share);
  EXPECT_LE(std::sqrt(squares / static_cast<double>(nats.size())), token_rms);
}

INSTANTIATE_TEST_SUITE_P(Slow, DemoText, testing::Values(Numerics::released, Numerics::f32),
                         [](const auto& of) { return of.param == Numerics::f32 ? "f32" : "released"; });

}  // namespace
}  // namespace cachalot::demo_text_test
