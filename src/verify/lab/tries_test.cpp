// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/tries.h"

#include <gtest/gtest.h>

#include "verify/lab/nudge.h"

namespace cachalot::tries_test {
namespace {

Finding finding(std::string tensor, bool good) {
  return {std::move(tensor), good ? Verdict::pass : Verdict::fail, good ? "near" : "far", "limit", good ? 0.5 : 2};
}

struct Tried {
  int runs = 0;
  CaseReport report{"case"};
};

// `good(run)` says of each run, the plain one being 0, which of two findings are within their limits.
Tried try_all(const TryRules& rules, const std::function<std::pair<bool, bool>(int)>& good) {
  static const Config config;
  static const CodeWitness nothing;
  static const std::vector<std::int64_t> ids = {1, 2};
  Tried tried;
  const Attempt attempt = [&](RunObserver&, CaseReport& findings) -> Status {
    const auto [first, second] = good(tried.runs++);
    findings.add(finding("first", first));
    findings.add(finding("second", second));
    return {};
  };
  EXPECT_TRUE(judge_with_tries(config, rules, {nothing, ids, 2}, attempt, tried.report));
  return tried;
}
constexpr TryRules all = {.ties = true, .nudged = true};

TEST(Tries, WhatIsGoodAsItIsRunsOnce) {
  const Tried t = try_all(all, [](int) { return std::pair(true, true); });
  EXPECT_EQ(t.runs, 1);
  EXPECT_EQ(t.report.verdict(), Verdict::pass);
  EXPECT_EQ(t.report.findings()[0].error, "near");
}

TEST(Tries, OneTryMustSatisfyEveryFinding) {
  const Tried apart = try_all(all, [](int run) { return std::pair(run % 2 == 1, run % 2 == 0 && run > 0); });
  EXPECT_EQ(apart.runs, 1 + static_cast<int>(nudges));
  EXPECT_EQ(apart.report.verdict(), Verdict::fail);
  EXPECT_NE(apart.report.findings()[0].error.find("no rounding explains it"), std::string::npos);

  const Tried lost = try_all(all, [](int run) { return run == 0 ? std::pair(false, true) : std::pair(true, false); });
  EXPECT_EQ(lost.report.verdict(), Verdict::fail)
      << "a try that is right where the plain run is wrong, and wrong elsewhere";
}

TEST(Tries, TheFirstThatDoesIsToldWithWhatWasBefore) {
  const Tried t = try_all(all, [](int run) { return std::pair(run >= 3, true); });
  EXPECT_EQ(t.runs, 4);
  EXPECT_EQ(t.report.verdict(), Verdict::pass);
  const std::string& told = t.report.findings()[0].error;
  EXPECT_NE(told.find("(nudge 3)"), std::string::npos) << told;
  EXPECT_NE(told.find("as it is: far"), std::string::npos) << told;
  EXPECT_EQ(t.report.findings()[1].error, "near");
}

TEST(Tries, NothingIsTriedWithoutARule) {
  const Tried t = try_all({}, [](int run) { return std::pair(run > 0, true); });
  EXPECT_EQ(t.runs, 1);
  EXPECT_EQ(t.report.verdict(), Verdict::fail);
  EXPECT_EQ(t.report.findings()[0].error, "far");
}

}  // namespace
}  // namespace cachalot::tries_test
