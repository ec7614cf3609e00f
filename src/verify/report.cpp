// SPDX-License-Identifier: Apache-2.0
#include "verify/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace cachalot {

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::shown:
      return "shown";
    case Verdict::not_run:
      return "not run";
    case Verdict::fail:
      return "FAIL";
  }
  return "?";
}

void CaseReport::compare(std::string_view tensor, std::span<const float> got, std::span<const float> want,
                         const Tolerance& t, bool judged) {
  if (got.size() != want.size()) {
    fail(tensor, fmt::format("{} values, the golden has {}", got.size(), want.size()));
    return;
  }
  const Judgement j = judge(error_stats(got, want), t);
  const Verdict verdict = !judged ? Verdict::shown : j.used > 1 ? Verdict::fail : Verdict::pass;
  add({std::string(tensor), verdict, j.error, j.allowed, j.used});
}

void CaseReport::compare_numbers(std::string_view tensor, std::span<const std::int64_t> got,
                                 std::span<const std::int64_t> want, std::int64_t width, bool judged) {
  check(width > 0, "rows of whole numbers have a width");
  if (got.size() != want.size()) {
    fail(tensor, fmt::format("{} numbers, the golden has {}", got.size(), want.size()));
    return;
  }
  std::int64_t unequal = 0;
  std::string first;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    if (unequal++ == 0) {
      const auto at = static_cast<std::int64_t>(i);
      first = fmt::format(", first at row {} column {}: {}, golden {}", at / width, at % width, got[i], want[i]);
    }
  }
  const Verdict verdict = !judged ? Verdict::shown : unequal > 0 ? Verdict::fail : Verdict::pass;
  add({std::string(tensor), verdict, fmt::format("unequal {} of {}{}", unequal, got.size(), first), "exact",
       unequal > 0 ? Tolerance::any : 0});
}

Verdict CaseReport::verdict() const {
  bool judged = false, shown = false;
  for (const Finding& f : findings_) {
    if (f.verdict == Verdict::fail) return Verdict::fail;
    judged |= f.verdict == Verdict::pass;
    shown |= f.verdict == Verdict::shown;
  }
  return judged ? Verdict::pass : shown ? Verdict::shown : Verdict::not_run;
}

std::int64_t CaseReport::compared() const {
  return std::ranges::count_if(findings_, [](const Finding& f) { return f.verdict != Verdict::not_run; });
}

const Finding* CaseReport::worst() const {
  const Finding* worst = nullptr;
  for (const Finding& f : findings_) {
    if (f.verdict == Verdict::fail) return &f;
    if (f.verdict != Verdict::not_run && (worst == nullptr || f.used > worst->used)) worst = &f;
  }
  return worst;
}

void Report::add(const CaseReport& report) {
  const Verdict verdict = report.verdict();
  std::string line = fmt::format("{:<8}{:<34}", name(verdict), report.name());
  if (verdict != Verdict::not_run)
    line += fmt::format(" compared {:>3}, tensors {:>3}", report.compared(), report.present());
  if (const Finding* worst = report.worst()) {
    line += fmt::format("  worst {}: {}", worst->tensor, worst->error);
    if (!worst->allowed.empty()) line += fmt::format(" (allowed {})", worst->allowed);
  }
  print_(line);
  for (const Finding& f : report.findings()) {
    const bool told = f.verdict == Verdict::not_run || (f.verdict == Verdict::fail && &f != report.worst());
    if (!options_.verbose && !told) continue;
    print_(fmt::format("    {:<8}{:<38} {}{}", name(f.verdict), f.tensor, f.error,
                       f.allowed.empty() ? "" : fmt::format(" (allowed {})", f.allowed)));
  }
  passed_ += verdict == Verdict::pass ? 1 : 0;
  failed_ += verdict == Verdict::fail ? 1 : 0;
  shown_ += verdict == Verdict::shown ? 1 : 0;
  not_run_ += std::ranges::count(report.findings(), Verdict::not_run, &Finding::verdict);
  if (verdict == Verdict::fail) failures_.push_back(report.name());
}

bool Report::finish() {
  print_(fmt::format("verify: {} passed, {} failed, {} shown only, {} not run", passed_, failed_, shown_, not_run_));
  for (const std::string& failure : failures_) print_(fmt::format("verify: failed: {}", failure));
  if (cases() == 0) {
    print_("verify: failed: not one case was found");
    return false;
  }
  if (options_.strict && not_run_ > 0) {
    print_("verify: failed: --strict, and something was not run");
    return false;
  }
  return failed_ == 0;
}

}  // namespace cachalot
