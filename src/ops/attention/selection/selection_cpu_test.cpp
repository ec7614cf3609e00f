// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/attention/selection/selection.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  Array<float, 2> score;
  Array<std::int64_t, 1> visible;
  Array<std::int32_t, 2> block;  // [rows, 0]: everywhere
  std::int64_t block_size;
  std::int64_t top;
};

void expect_equal(Case c) {
  Agreement agreement;
  agreement.add(selection_ref, selection_cpu, [&](auto op, Context& context) {
    Array<std::int32_t, 2> group({c.score.shape[0], c.top}, -7);
    op(context, {c.score, c.visible, c.block, c.block_size, group});
    return std::vector<float>(group.at.begin(), group.at.end());  // below 2^24
  });
  EXPECT_EQ(agreement.unequal, 0) << c.score.shape[1] << " groups, top " << c.top;
}

TEST(SelectionCpu, GivesTheReferencesGroupsOfScoresWithTiesNanAndInfinities) {
  Random random(1);
  const float odd[] = {nan, -infinity, infinity, 0.0f, -0.0f};
  for (int round = 0; round < 120; ++round) {
    const std::int64_t rows = 1 + random.below(4);
    const std::int64_t groups = 1 + random.below(round % 3 == 0 ? 3000 : 90);
    const std::int64_t top = 1 + random.below(round % 2 == 0 ? 20 : 700);
    const std::int64_t size = 1 + random.below(9);
    const std::int64_t blocks = (groups + size - 1) / size;
    Case c{Array<float, 2>({rows, groups}), Array<std::int64_t, 1>({rows}),
           Array<std::int32_t, 2>({rows, round % 5 < 2 ? 0 : blocks + 3}, -1), size, top};
    const std::int64_t kinds = 1 + random.below(round % 7 == 0 ? 2 : 400);
    for (float& v : c.score.at) {
      v = static_cast<float>(random.below(kinds) - kinds / 2);
      if (random.below(8) == 0) v = odd[random.below(5)];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      c.visible.at[static_cast<std::size_t>(row)] = random.below(groups + 1);
      std::int64_t listed = 0;
      for (std::int32_t b = 0; b < blocks && c.block.shape[1] > 0; ++b) {
        if (random.below(3) != 0) c.block.view()[row][listed++] = b;
      }
    }
    expect_equal(c);
  }
}

TEST(SelectionCpu, GivesTheReferencesGroupsWhenOneRowIsCutIntoPieces) {
  Random random(2);
  for (const std::int64_t groups : {524'287, 524'289}) {
    Case c{Array<float, 2>({1, groups}), Array<std::int64_t, 1>({1}, groups), Array<std::int32_t, 2>({1, 0}), 1, 512};
    for (float& v : c.score.at) v = static_cast<float>(random.below(3000));
    expect_equal(c);
    for (std::size_t i = 0; i < c.score.at.size(); ++i) c.score.at[i] = static_cast<float>(i / 3);  // ever better
    expect_equal(c);
    c.score = Array<float, 2>({1, groups}, 0);
    expect_equal(c);
  }
}

TEST(SelectionCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  Case c{Array<float, 2>({6, 900}), Array<std::int64_t, 1>({6}), Array<std::int32_t, 2>({6, 40}, -1), 8, 128};
  for (float& v : c.score.at) v = static_cast<float>(random.below(50));
  for (std::int64_t& v : c.visible.at) v = random.below(901);
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int32_t b = 0; b < 5 + 7 * row; ++b) c.block.view()[row][b] = 2 * b;
  }
  EXPECT_TRUE(rows_stand_alone(6, [&](std::int64_t first, std::int64_t n) {
    Context context(3);
    Array<std::int32_t, 2> group({n, 128});
    selection_cpu(context, {c.score.view().part(first, n), c.visible.view().part(first, n),
                            c.block.view().part(first, n), 8, group});
    return std::vector<float>(group.at.begin(), group.at.end());
  }));
}

TEST(SelectionCpu, NoRowsNoGroupsAndNoPlacesAreNothingToDo) {
  expect_equal({Array<float, 2>({0, 5}), Array<std::int64_t, 1>({0}), Array<std::int32_t, 2>({0, 0}), 1, 3});
  expect_equal({Array<float, 2>({2, 0}), Array<std::int64_t, 1>({2}), Array<std::int32_t, 2>({2, 0}), 1, 3});
  expect_equal({Array<float, 2>({2, 5}), Array<std::int64_t, 1>({2}, 5), Array<std::int32_t, 2>({2, 0}), 1, 0});
}

}  // namespace
}  // namespace cachalot
