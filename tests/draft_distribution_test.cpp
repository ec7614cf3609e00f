// SPDX-License-Identifier: Apache-2.0
// Sampling with drafts follows the model's own distribution: three tokens behind a prompt, 20,000 times with other
// seeds, against the product of the exact distributions that the sampler draws from.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/draft_source.h"
#include "engine/generate.h"

namespace cachalot::draft_distribution_test {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t tokens_drawn = 3;

// All continuations of `sequence` by the tokens that can come, with their probabilities.
void add_continuations(const LoadedModel& loaded, Context& context, const Sequence& sequence, TokenId newest,
                       const Sampler& sampler, const Ids& before, double probability, std::map<Ids, double>& all) {
  if (static_cast<std::int64_t>(before.size()) == tokens_drawn) {
    all[before] = probability;
    return;
  }
  Sequence own = sequence.share();
  Sequence* const one[] = {&own};
  const Row row[] = {{.token = newest, .wants_logits = true}};
  std::vector<float> logits;
  ASSERT_TRUE(loaded.model.forward(context, {one, row, nullptr, nullptr}, logits));
  SamplerScratch scratch;
  const auto possible = sampler.distribution(logits, scratch);
  ASSERT_TRUE(possible);
  for (const TokenProbability& t : *possible) {
    Ids next = before;
    next.push_back(raw(t.id));
    add_continuations(loaded, context, own, t.id, sampler, next, probability * t.probability, all);
  }
}

TEST(SlowDraftDistribution, TwentyThousandDraftedCompletionsFollowTheModels) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.backend = &cpu_backend(), .drafts = true});
  ASSERT_TRUE(loaded);
  Context context;
  Sequence prompt = loaded->model.new_sequence();
  ASSERT_TRUE(generate(*loaded, context, prompt, std::vector<TokenId>{TokenId{3}, TokenId{40}, TokenId{77}},
                       {.max_tokens = 0}));
  GenerateOptions options{.max_tokens = tokens_drawn};
  options.sampling = {.temperature = 1, .top_k = 4};
  const TokenId last{90};
  std::map<Ids, double> expected;
  add_continuations(*loaded, context, prompt, last, Sampler(options.sampling, loaded->reserved), {}, 1, expected);
  ASSERT_EQ(expected.size(), 64U);

  DraftStages stages(loaded->model);
  options.drafting = {.source = &stages, .count = 5};
  constexpr int draws = 20000;
  std::map<Ids, int> seen;
  DraftCounts counts;
  for (int d = 0; d < draws; ++d) {
    options.sampling.seed = static_cast<std::uint64_t>(d);
    Sequence own = prompt.share();
    const auto got = generate(*loaded, context, own, std::vector<TokenId>{last}, options);
    ASSERT_TRUE(got);
    Ids made;
    for (const GeneratedToken& t : got->choices[0].tokens) made.push_back(raw(t.id));
    ++seen[made];
    counts.add(got->drafts);
  }
  double chi_square = 0;
  int classes = 0, all_seen = 0;
  double rare_expected = 0;
  int rare_seen = 0;
  for (const auto& [made, p] : expected) {
    const double e = draws * p;
    all_seen += seen[made];
    if (e < 8) {
      rare_expected += e;
      rare_seen += seen[made];
      continue;
    }
    chi_square += (seen[made] - e) * (seen[made] - e) / e;
    ++classes;
  }
  EXPECT_EQ(all_seen, draws) << "something impossible was drawn";
  if (rare_expected >= 8) {
    chi_square += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
    ++classes;
  }
  const double freedom = classes - 1;
  EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom)) << classes << " classes";  // four standard deviations
  // Both ways were taken: drafts that stood, and drafts that did not.
  ASSERT_EQ(counts.proposed.size(), 1U);
  EXPECT_GT(counts.accepted[0], draws / 50);
  EXPECT_LT(counts.accepted[0], counts.proposed[0]);
}

}  // namespace
}  // namespace cachalot::draft_distribution_test
