// SPDX-License-Identifier: Apache-2.0
#include "verify/end_to_end.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace cachalot {

void EndToEndRows::add(EndToEndRow row, std::span<const float> got_row, std::span<const float> want_row) {
  check(static_cast<std::int64_t>(got_row.size()) == width && got_row.size() == want_row.size(),
        "a row of the run is as wide as the golden one");
  rows.push_back(std::move(row));
  got.insert(got.end(), got_row.begin(), got_row.end());
  want.insert(want.end(), want_row.begin(), want_row.end());
}

void judge_end_to_end(std::string_view tensor, const EndToEndRows& table, Numerics numerics, CaseReport& report) {
  const bool f32 = numerics == Numerics::f32;
  const EndToEndLimits& limits = f32 ? end_to_end_f32 : end_to_end_released;
  const RowErrors all = row_errors(table.got, table.want, table.width);
  const bool by_max = f32 || table.short_prompt;
  const std::vector<double>& errors = by_max ? all.max : all.l2;
  const double median_limit = table.short_prompt ? end_to_end_released_short : limits.median;

  double used = 0;
  std::string problem;
  std::vector<double> judged;
  std::size_t left = 0, best_differs = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const EndToEndRow& row = table.rows[r];
    if (row.left) {
      ++left;
      continue;
    }
    judged.push_back(errors[r]);
    const double limit = table.short_prompt && !f32 ? end_to_end_released_short : limits.max;
    used = std::max(used, errors[r] / limit);
    if (!(errors[r] <= limit) && problem.empty()) {
      problem = fmt::format("; {} is off by {:.1e}, allowed {:g}", row.where, errors[r], limit);
    }
    if (!table.argmax) continue;
    const auto width = static_cast<std::size_t>(table.width);
    const Best got = best_of(std::span(table.got).subspan(r * width, width));
    const Best want = best_of(std::span(table.want).subspan(r * width, width));
    if (got.index == want.index) continue;
    ++best_differs;
    if (want.margin > limits.margin) {
      used = Tolerance::any;
      if (problem.empty()) {
        problem = fmt::format("; {}: best token {}, golden {} with a margin of {:.3f}, above {:g}", row.where,
                              got.index, want.index, want.margin, limits.margin);
      }
    }
  }
  const double median = quantile(judged, 0.5);
  used = std::max(used, median / median_limit);

  std::string error = fmt::format("{} rows, row {} error median {:.1e}, max {:.1e}", judged.size(),
                                  by_max ? "max" : "L2", median, judged.empty() ? 0 : std::ranges::max(judged));
  if (table.argmax) error += fmt::format(", other best token in {}", best_differs);
  if (left > 0) error += fmt::format(", {} rows not comparable behind a choice within the margin", left);
  std::string allowed = fmt::format("median {:g}", median_limit);
  if (!table.short_prompt) allowed += fmt::format(", max {:g}", limits.max);
  if (table.argmax) allowed += fmt::format(", margin {:g}", limits.margin);
  const Verdict verdict = judged.empty() ? Verdict::shown : used <= 1 ? Verdict::pass : Verdict::fail;
  report.add({std::string(tensor), verdict, error + problem, allowed, used});
}

}  // namespace cachalot
