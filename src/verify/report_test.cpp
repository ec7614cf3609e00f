// SPDX-License-Identifier: Apache-2.0
#include "verify/report.h"

#include <gtest/gtest.h>

#include "verify/cases/model_cases.h"

namespace cachalot::report_test {
namespace {

struct Printed {
  std::string text;
  Report report;

  explicit Printed(ReportOptions options = {})
      : report([this](std::string_view line) { text += std::string(line) + "\n"; }, options) {}
};

TEST(Tolerance, AnErrorUpToTheLimitPassesAndOneAboveFails) {
  const Tolerance limit{.name = "test", .reason = "test", .max_abs = 0.5};
  const std::vector<float> want = {1, 1}, at = {1.5f, 1}, above = {1.625f, 1};
  EXPECT_LE(judge(error_stats(at, want), limit).used, 1);
  EXPECT_GT(judge(error_stats(above, want), limit).used, 1);
}

TEST(Tolerance, ExactTakesNoDifferenceAndSaysWhere) {
  const std::vector<float> want = {1, 2, 3}, got = {1, 2, 3.0000002f};
  const Judgement j = judge(error_stats(got, want), tolerances::exact);
  EXPECT_GT(j.used, 1);
  EXPECT_NE(j.error.find("first at 2"), std::string::npos) << j.error;
  EXPECT_EQ(judge(error_stats(want, want), tolerances::exact).used, 0);
}

TEST(Tolerance, NaNOutOfPlacePassesNoLimit) {
  const Tolerance loose{.name = "test", .reason = "test", .median = 1e30};
  const std::vector<float> want = {1, 2, 3}, got = {1, 2, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_GT(judge(error_stats(got, want), loose).used, 1);
}

TEST(CaseReport, NumbersThatDifferNameTheFirstPlace) {
  CaseReport report("case");
  report.compare_numbers("ids", std::vector<std::int64_t>{1, 2, 3, 5}, std::vector<std::int64_t>{1, 2, 3, 4}, 2);
  EXPECT_EQ(report.verdict(), Verdict::fail);
  EXPECT_NE(report.worst()->error.find("row 1 column 1: 5, golden 4"), std::string::npos) << report.worst()->error;
}

TEST(CaseReport, OtherCountsFail) {
  CaseReport report("case");
  report.compare("x", std::vector<float>{1}, std::vector<float>{1, 2}, tolerances::exact);
  EXPECT_EQ(report.verdict(), Verdict::fail);
}

TEST(Report, NotOneCaseFails) {
  Printed p;
  EXPECT_FALSE(p.report.finish());
  EXPECT_NE(p.text.find("not one case"), std::string::npos);
}

TEST(Report, PartNotRunFailsOnlyWhenStrict) {
  for (const bool strict : {false, true}) {
    Printed p({.strict = strict});
    CaseReport one("image");
    one.compare("x", std::vector<float>{1}, std::vector<float>{1}, tolerances::exact);
    one.not_run("patches", "no vision tower");
    p.report.add(one);
    EXPECT_EQ(p.report.finish(), !strict);
    EXPECT_NE(p.text.find("not run patches"), std::string::npos) << p.text;
  }
}

TEST(Report, FailureIsNamedInTheSummary) {
  Printed p;
  CaseReport good("good"), bad("bad");
  good.compare("x", std::vector<float>{1}, std::vector<float>{1}, tolerances::exact);
  bad.compare("x", std::vector<float>{1}, std::vector<float>{2}, tolerances::exact);
  p.report.add(good);
  p.report.add(bad);
  EXPECT_FALSE(p.report.finish());
  EXPECT_NE(p.text.find("verify: failed: bad"), std::string::npos) << p.text;
}

std::pair<Verdict, std::string> greedy(std::vector<std::int64_t> got, std::vector<double> margins) {
  CaseReport report("greedy");
  const std::vector<std::int64_t> want = {1, 2, 3};
  judge_greedy("output", got, want, margins, 0.5, report);
  return {report.findings()[0].verdict, report.findings()[0].error};
}

TEST(JudgeGreedy, IdsCountUntilTheFirstMarginBelow) {
  EXPECT_EQ(greedy({1, 2, 3}, {1, 1, 1}).first, Verdict::pass);
  EXPECT_EQ(greedy({1, 9, 3}, {1, 0.4, 1}).first, Verdict::pass);
  EXPECT_EQ(greedy({1, 2, 9}, {1, 0.4, 1}).first, Verdict::pass) << "behind a small margin nothing is judged";
  EXPECT_EQ(greedy({1, 9, 3}, {1, 0.5, 1}).first, Verdict::fail);
  EXPECT_EQ(greedy({9, 2, 3}, {0.1, 1, 1}).first, Verdict::shown) << "nothing was judged";
  EXPECT_EQ(greedy({1, 2}, {1, 1, 1}).first, Verdict::fail) << "too few";
}

TEST(JudgeGreedy, IdsThatAreEqualAreAtNoDistanceAndOthersAtAny) {
  const std::vector<std::int64_t> want = {1, 2}, other = {1, 9};
  const std::vector<double> margins = {1, 1};
  CaseReport report("greedy");
  judge_greedy("equal", want, want, margins, 0.5, report);
  judge_greedy("other", other, want, margins, 0.5, report);
  EXPECT_EQ(report.findings()[0].used, 0);
  EXPECT_EQ(report.findings()[1].used, Tolerance::any);
  EXPECT_EQ(report.worst()->tensor, "other");
}

}  // namespace
}  // namespace cachalot::report_test
