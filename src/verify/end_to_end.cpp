// SPDX-License-Identifier: Apache-2.0
#include "verify/end_to_end.h"

#include <fmt/format.h>

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

void judge_end_to_end(std::string_view tensor, const EndToEndRows& table, Numerics numerics, std::string_view evidence,
                      CaseReport& report) {
  const bool f32 = numerics == Numerics::f32;
  const EndToEndLimits& limits = f32 ? end_to_end_f32 : end_to_end_released;
  const RowErrors all = row_errors(table.got, table.want, table.width);
  const bool by_max = f32 || table.short_prompt;
  const std::vector<double>& errors = by_max ? all.max : all.l2;
  const double median_limit = table.short_prompt ? end_to_end_released_short : limits.median;

  double used = 0;
  std::string problem;
  std::vector<double> judged;
  std::size_t flipped = 0, left = 0, best_differs = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const EndToEndRow& row = table.rows[r];
    if (row.left) {
      ++left;
      continue;
    }
    judged.push_back(errors[r]);
    flipped += row.flipped ? 1 : 0;
    const double limit = table.short_prompt && !f32 ? end_to_end_released_short
                         : row.flipped              ? limits.max_after_flip
                                                    : limits.max;
    used = std::max(used, errors[r] / limit);
    if (!(errors[r] <= limit) && problem.empty()) {
      problem = fmt::format("; {} is off by {:.1e}, allowed {:g}; {}", row.where, errors[r], limit, evidence);
    }
    if (!table.argmax) continue;
    const auto width = static_cast<std::size_t>(table.width);
    const Best got = best_of(std::span(table.got).subspan(r * width, width));
    const Best want = best_of(std::span(table.want).subspan(r * width, width));
    if (got.index == want.index) continue;
    ++best_differs;
    const double margin = row.flipped ? limits.margin_after_flip : limits.margin;
    if (want.margin > margin) {
      used = Tolerance::any;
      if (problem.empty()) {
        problem = fmt::format("; {}: best token {}, golden {} with a margin of {:.3f}, above {:g}; {}", row.where,
                              got.index, want.index, want.margin, margin, evidence);
      }
    }
  }
  const double median = quantile(judged, 0.5);
  used = std::max(used, median / median_limit);
  if (median > median_limit && problem.empty()) problem = fmt::format("; {}", evidence);

  std::string error = fmt::format("{} rows, row {} error median {:.1e}, max {:.1e}", judged.size(),
                                  by_max ? "max" : "L2", median, judged.empty() ? 0 : std::ranges::max(judged));
  if (table.argmax) error += fmt::format(", other best token in {}", best_differs);
  if (flipped > 0) error += fmt::format(", {} rows behind a flipped code: {}", flipped, evidence);
  if (left > 0) error += fmt::format(", {} rows not comparable behind a choice within the margin", left);
  std::string allowed = fmt::format("median {:g}", median_limit);
  if (!table.short_prompt) allowed += fmt::format(", max {:g}", limits.max);
  if (table.argmax) allowed += fmt::format(", margin {:g}", limits.margin);
  const Verdict verdict = judged.empty() ? Verdict::shown : used <= 1 ? Verdict::pass : Verdict::fail;
  report.add({std::string(tensor), verdict, error + problem, allowed, used});
}

Evidence look_for_flips(const CodeWitness& witness, const CodeRecorder& own, std::span<const std::int64_t> ids,
                        std::int64_t width, const Config& config) {
  Evidence evidence;
  bool known = true;
  for (std::int64_t b = 0; b * width < static_cast<std::int64_t>(ids.size()); ++b) {
    const auto sequence = ids.subspan(static_cast<std::size_t>(b * width), static_cast<std::size_t>(width));
    auto flip = witness.first_flip(sequence, own.of(b), config);
    if (flip) evidence.words += fmt::format("{}sequence {}: {}", evidence.words.empty() ? "" : "; ", b, flip->what);
    known &= witness.knows(sequence);
    evidence.flips.push_back(std::move(flip));
  }
  if (evidence.words.empty()) {
    evidence.words = known ? "no flipped code is shown: the golden codes of these tokens equal the engine's"
                           : "no flipped code can be shown: no golden taps of these tokens";
  }
  return evidence;
}

}  // namespace cachalot
