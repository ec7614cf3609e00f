// SPDX-License-Identifier: Apache-2.0
#include "verify/end_to_end.h"

#include <gtest/gtest.h>

namespace cachalot::end_to_end_test {
namespace {

// Golden rows of two logits, 1 and -1 (so their rms is 1), the engine's off by `errors` in the first.
EndToEndRows rows_with(std::vector<float> errors) {
  EndToEndRows rows{.width = 2, .rows = {}, .got = {}, .want = {}};
  for (std::size_t r = 0; r < errors.size(); ++r) {
    rows.add({.where = fmt::format("row {}", r)}, std::vector<float>{1 + errors[r], -1}, std::vector<float>{1, -1});
  }
  return rows;
}

Finding judged(const EndToEndRows& rows, Numerics numerics = Numerics::f32) {
  CaseReport report("case");
  judge_end_to_end("logits", rows, numerics, report);
  return report.findings()[0];
}

TEST(EndToEnd, RowsWithinTheLimitPass) { EXPECT_EQ(judged(rows_with({1e-6f, 9e-4f, 0})).verdict, Verdict::pass); }

TEST(EndToEnd, OneFarRowFailsAndIsNamed) {
  const Finding f = judged(rows_with({0, 0, 2e-3f}));
  EXPECT_EQ(f.verdict, Verdict::fail);
  EXPECT_NE(f.error.find("row 2"), std::string::npos) << f.error;
}

TEST(EndToEnd, MedianOfAllRowsIsHeldToo) { EXPECT_EQ(judged(rows_with({2e-5f, 2e-5f, 2e-5f})).verdict, Verdict::fail); }

TEST(EndToEnd, OtherBestTokenCountsAboveTheMargin) {
  for (const float margin : {0.005f, 0.02f}) {
    EndToEndRows rows{.width = 2, .rows = {}, .got = {}, .want = {}};
    for (int r = 0; r < 3; ++r) rows.add({.where = "row"}, std::vector<float>{100, 0}, std::vector<float>{100, 0});
    rows.add({.where = "row"}, std::vector<float>{0, 1e-4f}, std::vector<float>{margin, 0});
    EXPECT_EQ(judged(rows).verdict, margin > 0.01f ? Verdict::fail : Verdict::pass);
  }
}

TEST(EndToEnd, ShortPromptsInReleasedAreHeldToRoundingErrors) {
  EndToEndRows rows = rows_with({1e-3f});
  EXPECT_EQ(judged(rows, Numerics::released).verdict, Verdict::pass);
  rows.short_prompt = true;
  EXPECT_EQ(judged(rows, Numerics::released).verdict, Verdict::fail);
}

TEST(EndToEnd, RowsBehindAnotherChoiceAreLeftOut) {
  EndToEndRows rows = rows_with({0, 5});
  rows.rows[1].left = true;
  EXPECT_EQ(judged(rows).verdict, Verdict::pass);
  rows.rows[0].left = true;
  EXPECT_EQ(judged(rows).verdict, Verdict::shown) << "nothing is left to judge";
}

}  // namespace
}  // namespace cachalot::end_to_end_test
