// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/attention/candidates/candidates.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  Array<float, 2> score;
  Array<std::int64_t, 1> visible;
  std::int64_t block_size;
  std::int64_t top;
};

void expect_equal(Case c) {
  Agreement agreement;
  agreement.add(candidates_ref, candidates_cpu, [&](auto op, Context& context) {
    Array<std::int32_t, 2> block({c.score.shape[0], c.top}, -7);
    op(context, {c.score, c.visible, c.block_size, block});
    return std::vector<float>(block.at.begin(), block.at.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << c.score.shape[1] << " groups in blocks of " << c.block_size << ", top " << c.top;
}

TEST(CandidatesCpu, GivesTheReferencesBlocksOfScoresWithTiesNanAndInfinities) {
  Random random(1);
  const float odd[] = {nan, -infinity, infinity, 0.0f, -0.0f};
  for (int round = 0; round < 150; ++round) {
    const std::int64_t rows = 1 + random.below(4);
    const std::int64_t groups = random.below(round % 3 == 0 ? 4000 : 90);
    Case c{Array<float, 2>({rows, groups}), Array<std::int64_t, 1>({rows}), 1 + random.below(20),
           random.below(round % 2 == 0 ? 4 : 200)};
    const std::int64_t kinds = 1 + random.below(round % 7 == 0 ? 2 : 400);
    for (float& v : c.score.at) {
      v = static_cast<float>(random.below(kinds) - kinds / 2);
      if (random.below(8) == 0) v = odd[random.below(5)];
    }
    for (std::int64_t& v : c.visible.at) v = random.below(groups + 1);
    expect_equal(c);
  }
}

TEST(CandidatesCpu, GivesTheReferencesBlocksWhenOneRowIsCutIntoPieces) {
  Random random(2);
  for (const std::int64_t groups : {2 * 524'288 + 3, 1'700'000}) {
    Case c{Array<float, 2>({1, groups}), Array<std::int64_t, 1>({1}, groups), 2, 2048};
    for (float& v : c.score.at) v = static_cast<float>(random.below(1 << 20));
    expect_equal(c);
  }
}

TEST(CandidatesCpu, WholeRowsOfNanAndZerosGiveTheReferencesBlocks) {
  for (const float v : {nan, -infinity, 0.0f}) {
    for (const std::int64_t top : {1, 2, 5, 100}) {
      expect_equal({Array<float, 2>({1, 700}, v), Array<std::int64_t, 1>({1}, 699), 8, top});
    }
  }
}

TEST(CandidatesCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  Case c{Array<float, 2>({6, 900}), Array<std::int64_t, 1>({6}), 8, 30};
  for (float& v : c.score.at) v = static_cast<float>(random.below(50));
  for (std::int64_t& v : c.visible.at) v = random.below(901);
  EXPECT_TRUE(rows_stand_alone(6, [&](std::int64_t first, std::int64_t n) {
    Context context(3);
    Array<std::int32_t, 2> block({n, 30});
    candidates_cpu(context, {c.score.view().part(first, n), c.visible.view().part(first, n), 8, block});
    return std::vector<float>(block.at.begin(), block.at.end());
  }));
}

}  // namespace
}  // namespace cachalot
