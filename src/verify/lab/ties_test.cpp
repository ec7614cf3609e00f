// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/ties.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cachalot::ties_test {
namespace {

// Under a scale of 1: the largest value is 6, the codes 0, .5, 1, 1.5, 2, 3, 4, 6.
std::vector<float> group_of(std::vector<float> first) {
  first.resize(32, 0.0f);
  first.back() = 6;
  return first;
}

Config two_layers() {
  Config config;
  config.n_layers = 2;
  config.compress_ratios = {0, 3};
  return config;
}

const std::string query = "layers.1.attn.indexer.q", key = "layers.1.attn.indexer.k", kv = "layers.1.attn.compress_kv";

void show(Observer& observer, const std::string& name, std::vector<float>& rows, std::int64_t count) {
  const auto width = static_cast<std::int64_t>(rows.size()) / count;
  observer.values(name, 0, Values<2>(View<float, 2>(rows.data(), {count, width})));
}

TEST(CodeGroup, TiesLieHalfwayToTheNeighbours) {
  const auto values = group_of({2.6f, -0.1f});
  const CodeGroup group(RowFormat::e2m1_e8m0_32, values);
  EXPECT_EQ(group.scale, 1);
  EXPECT_EQ(group.magnitude(0), 5u);  // 3
  EXPECT_EQ(group.tie(0, true), 3.5);
  EXPECT_EQ(group.tie(0, false), 2.5);
  EXPECT_NEAR(group.distance(0, 2.5), 0.1 / 6, 1e-6);
  EXPECT_EQ(group.tie(1, false), std::nullopt) << "nothing below 0";
  EXPECT_EQ(group.tie(31, true), std::nullopt) << "nothing above 6";
}

TEST(CodeGroup, OneStepIsToANeighbourUnderTheSameScale) {
  const auto values = group_of({2.6f, -2.6f, 0.1f});
  const CodeGroup group(RowFormat::e2m1_e8m0_32, values);
  EXPECT_EQ(group.one_step_up(0, 4.0f), true);
  EXPECT_EQ(group.one_step_up(0, 2.0f), false);
  EXPECT_EQ(group.one_step_up(1, -4.0f), true);
  EXPECT_EQ(group.one_step_up(2, 0.5f), true);
  EXPECT_EQ(group.one_step_up(2, -0.5f), true);
  EXPECT_EQ(group.one_step_up(0, 6.0f), std::nullopt) << "two steps";
  EXPECT_EQ(group.one_step_up(0, 3.25f), std::nullopt) << "no code of this scale";
  EXPECT_EQ(group.one_step_up(0, -2.0f), std::nullopt) << "the other sign";
}

TEST(TieFinder, FindsWhatLiesNextToATieNearestFirstAndKnowsItsPlace) {
  const Config config = two_layers();
  auto rows = group_of({2.5f * (1 - 1e-6f)});
  const auto second = group_of({0, 0.25f * (1 + 4e-7f), 2.45f});
  rows.insert(rows.end(), second.begin(), second.end());
  TieFinder look(config);
  look.begin(10, 1);  // two sequences, a row each
  show(look, query, rows, 2);
  const auto ties = look.ties();
  ASSERT_EQ(ties.size(), 2u);
  EXPECT_EQ(ties[0].words(), query + " sequence 1 position 10 value 1");
  EXPECT_EQ(ties[1].words(), query + " sequence 0 position 10 value 0");
  EXPECT_LT(ties[0].distance, ties[1].distance);
}

TEST(TieFinder, RowsOfKeysAreGroupsAndAreKept) {
  const Config config = two_layers();
  auto rows = group_of({2.5f});
  TieFinder look(config);
  look.begin(4, 5);  // positions 4 … 8: groups 1 and 2 end there
  auto both = rows;
  both.insert(both.end(), rows.begin(), rows.end());
  show(look, key, both, 2);
  ASSERT_EQ(look.ties().size(), 2u);
  EXPECT_EQ(look.ties()[1].words(), key + " sequence 0 group 2 value 0");
  EXPECT_EQ(look.stored(0).at({key, 1}), rows);
  EXPECT_TRUE(look.stored(1).empty());
}

TEST(TieFinder, LooksAtNothingElse) {
  const Config config = two_layers();
  auto rows = group_of({2.5f});
  TieFinder look(config);
  look.begin(0, 3);
  for (const char* name : {"layers.0.attn.indexer.q", "layers.1.attn.out", "layers.1.attn.indexer.k_new", "embed"}) {
    show(look, name, rows, 1);
  }
  EXPECT_TRUE(look.ties().empty());
}

TEST(MoveAcross, ChangesOneCodeByOneStepAndNothingElse) {
  const Config config = two_layers();
  for (const float value : {2.5f * (1 - 2e-7f), 2.5f * (1 + 2e-7f), -2.5f * (1 - 2e-7f), 2.5f}) {
    for (const std::string& name : {query, key, kv}) {
      std::vector<float> rows = group_of({1.0f, value, value});
      if (name == kv) rows[15] = 6;  // its groups are of 16
      const std::vector<float> before = rows;
      MoveAcross move(config, {{name, {0, 0}, 1, 0}});
      move.begin(0, name == query ? 1 : 3);
      show(move, name, rows, 1);
      const auto to = rounded_to(name, config);
      const auto width = static_cast<std::size_t>(group_size(to->format));
      const CodeGroup was(to->format, std::span(before).first(width)), is(to->format, std::span(rows).first(width));
      EXPECT_EQ(std::abs(static_cast<int>(was.magnitude(1)) - static_cast<int>(is.magnitude(1))), 1) << name << value;
      EXPECT_EQ(std::signbit(rows[1]), std::signbit(value));
      rows[1] = before[1];
      EXPECT_EQ(rows, before);
    }
  }
}

TEST(MoveAcross, LeavesAloneWhatIsNotNextToATie) {
  const Config config = two_layers();
  std::vector<float> rows = group_of({1.0f, 2.4f});
  const std::vector<float> before = rows;
  MoveAcross move(config, {{query, {0, 0}, 1, 0}});
  move.begin(0, 1);
  show(move, query, rows, 1);
  EXPECT_EQ(rows, before);
}

}  // namespace
}  // namespace cachalot::ties_test
