// SPDX-License-Identifier: Apache-2.0
#include "verify/taps.h"

#include <gtest/gtest.h>

namespace cachalot::taps_test {
namespace {

using Lists = std::vector<std::vector<std::int64_t>>;

GoldenTap tap_of(std::vector<std::vector<float>> rows) {
  GoldenTap tap{.tensor = {}, .rows = std::ssize(rows), .width = std::ssize(rows[0]), .lists = {}};
  for (const auto& row : rows) tap.tensor.values.insert(tap.tensor.values.end(), row.begin(), row.end());
  return tap;
}

GoldenTap tap_of(Lists lists) {
  return {.tensor = {}, .rows = std::ssize(lists), .width = std::ssize(lists[0]), .lists = std::move(lists)};
}

void show(TapObserver& observer, std::string_view name, std::vector<std::vector<float>> rows) {
  const std::int64_t width = std::ssize(rows[0]);
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  observer.values(name, 0, View<float, 2>(all.data(), {std::ssize(rows), width}));
}

void show(TapObserver& observer, std::string_view name, Lists rows) {
  const std::int64_t width = std::ssize(rows[0]);
  std::vector<std::int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  observer.numbers(name, 0, View<std::int64_t, 2>(all.data(), {std::ssize(rows), width}));
}

// Of one golden tap, and of what the engine shows under its name.
template <class Golden, class Own>
Finding judged(const std::string& name, Golden golden, Own own, TapRules rules = TapRules::prompt,
               Numerics numerics = Numerics::f32) {
  TapObserver::Taps taps;
  taps.emplace(name, tap_of(std::move(golden)));
  TapObserver observer(taps, TapObserver::Feed::nothing);
  show(observer, name, std::move(own));
  CaseReport report("case");
  observer.compare(numerics, report, rules);
  EXPECT_EQ(report.findings().size(), 1u);
  return report.findings().empty() ? Finding{} : report.findings()[0];
}

using Values = std::vector<std::vector<float>>;
const std::string groups = "layers.0.attn.indexer.topk_idxs", hashes = "layers.1.engram.hash_ids",
                  out = "layers.0.attn.out";

TEST(Taps, ListsAreTheSameSetsRowByRow) {
  EXPECT_EQ(judged(groups, Lists{{3, 1, -1}, {2, 4, 6}}, Lists{{1, 3, -1}, {6, 4, 2}}).verdict, Verdict::pass);
  const Finding other = judged(groups, Lists{{3, 1, -1}, {2, 4, 6}}, Lists{{1, 3, -1}, {2, 5, 6}});
  EXPECT_EQ(other.verdict, Verdict::fail);
  EXPECT_EQ(other.error, "rows that differ: 1 of 2, first in row 1: 5 where the golden has 4");
}

TEST(Taps, HashesHaveAnOrder) {
  EXPECT_EQ(judged(hashes, Lists{{3, 1}}, Lists{{3, 1}}).verdict, Verdict::pass);
  EXPECT_EQ(judged(hashes, Lists{{3, 1}}, Lists{{1, 3}}).verdict, Verdict::fail);
}

TEST(Taps, FewerOrMoreRowsThanTheGoldenAreAFailure) {
  for (const Lists& rows : {Lists{{1}}, Lists{{1}, {2}, {3}}}) {
    const Finding f = judged(groups, Lists{{1}, {2}}, rows);
    EXPECT_EQ(f.verdict, Verdict::fail);
    EXPECT_EQ(f.error, fmt::format("{} rows, the golden has 2", rows.size()));
  }
  for (const Values& rows : {Values{{1}}, Values{{1}, {2}, {3}}}) {
    const Finding f = judged(out, Values{{1}, {2}}, rows);
    EXPECT_EQ(f.verdict, Verdict::fail);
    EXPECT_EQ(f.error, fmt::format("{} rows, the golden has 2", rows.size()));
  }
}

TEST(Taps, RowsOfAnotherWidthAreAFailure) {
  const Finding f = judged(out, Values{{1, 2}}, Values{{1, 2, 3}});
  EXPECT_EQ(f.verdict, Verdict::fail);
  EXPECT_EQ(f.error, "rows of 3, the golden's have 2");
}

TEST(Taps, ScoresOfGroupsThatNoRowSeesAreMinusInfinity) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::string score = "layers.0.attn.indexer.score";
  EXPECT_EQ(judged(score, Values{{1, -infinity}}, Values{{1}}).verdict, Verdict::pass);
  EXPECT_EQ(judged(score, Values{{1, 0}}, Values{{1}}).verdict, Verdict::fail);
}

TEST(Taps, OneThatNeverPassedByIsAFailure) {
  TapObserver::Taps taps;
  taps.emplace(out, tap_of(Values{{1}}));
  TapObserver observer(taps);
  show(observer, "layers.1.attn.out", Values{{1}});
  CaseReport report("case");
  observer.compare(Numerics::f32, report, TapRules::prompt);
  ASSERT_EQ(report.findings().size(), 1u);
  EXPECT_EQ(report.findings()[0].verdict, Verdict::fail);
  EXPECT_EQ(report.findings()[0].error, "the engine showed no tensor of this name");
}

TEST(Taps, BehindAStateOfItsOwnNothingIsJudgedInReleasedNumerics) {
  for (const auto& [numerics, rules, verdict] : {std::tuple(Numerics::f32, TapRules::prompt, Verdict::fail),
                                                 {Numerics::released, TapRules::prompt, Verdict::fail},
                                                 {Numerics::f32, TapRules::step, Verdict::fail},
                                                 {Numerics::released, TapRules::step, Verdict::shown}}) {
    EXPECT_EQ(judged(groups, Lists{{1}}, Lists{{2}}, rules, numerics).verdict, verdict);
    EXPECT_EQ(judged(out, Values{{1}}, Values{{2}}, rules, numerics).verdict, verdict);
  }
}

TEST(Taps, WeightsOfExpertsAreComparedExpertByExpert) {
  const std::string indices = "layers.0.ffn.gate_indices", weights = "layers.0.ffn.gate_weights";
  TapObserver::Taps taps;
  taps.emplace(indices, tap_of(Lists{{4, 7}}));
  taps.emplace(weights, tap_of(Values{{0.25f, 0.75f}}));
  for (const bool same : {true, false}) {
    TapObserver observer(taps, TapObserver::Feed::nothing);
    show(observer, indices, Lists{{7, 4}});
    show(observer, weights, same ? Values{{0.75f, 0.25f}} : Values{{0.25f, 0.75f}});
    CaseReport report("case");
    observer.compare(Numerics::f32, report, TapRules::prompt);
    EXPECT_EQ(report.verdict(), same ? Verdict::pass : Verdict::fail);
  }
}

}  // namespace
}  // namespace cachalot::taps_test
