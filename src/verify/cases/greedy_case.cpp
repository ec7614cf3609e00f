// SPDX-License-Identifier: Apache-2.0
// Greedy decoding: the most likely token, fed back in.
#include <algorithm>

#include "verify/cases/model_cases.h"

namespace cachalot {
void judge_greedy(std::string_view tensor, std::span<const std::int64_t> got, std::span<const std::int64_t> want,
                  std::span<const double> margins, double margin, CaseReport& report) {
  if (got.size() != want.size() || margins.size() != want.size()) {
    report.fail(tensor,
                fmt::format("{} ids and {} margins for {} golden ids", got.size(), margins.size(), want.size()));
    return;
  }
  const auto judged = static_cast<std::size_t>(std::ranges::find_if(margins, [&](double m) { return !(m >= margin); }) -
                                               margins.begin());
  const auto agree = static_cast<std::size_t>(std::ranges::mismatch(got, want).in1 - got.begin());
  std::string error = fmt::format("equal for {} of {} ids, {} judged", agree, want.size(), judged);
  const bool bad = agree < judged;
  if (bad)
    error +=
        fmt::format("; id {}: {}, golden {} with a margin of {:.3f}", agree, got[agree], want[agree], margins[agree]);
  report.add({std::string(tensor),
              bad           ? Verdict::fail
              : judged == 0 ? Verdict::shown
                            : Verdict::pass,
              error, fmt::format("equal until the first margin below {:g}", margin), bad ? Tolerance::any : 0});
}

Expected<std::vector<std::int64_t>> run_greedy(ModelRun& run, std::vector<float> logits, std::size_t count) {
  std::vector<std::int64_t> ids;
  while (ids.size() < count) {
    ids.push_back(best_of(logits).index);
    if (ids.size() == count) break;
    auto next = run.step(std::span(ids).last(1), Wanted::last);
    if (!next) return tl::unexpected(next.error());
    logits = std::move(*next);
  }
  return ids;
}

Status verify_greedy(ModelCase& c) {
  auto prompt = c.entry.numbers("prompt");
  if (!prompt) return tl::unexpected(prompt.error());
  auto output = c.entry.numbers("output");
  if (!output) return tl::unexpected(output.error());
  auto margins = c.entry.reals("margins");
  if (!margins) return tl::unexpected(margins.error());
  if (prompt->empty() || output->empty()) return fail(Errc::format, "{}: no prompt or no output", c.entry.case_name());
  auto model = c.models.get(c.entry.numerics, IndexKeys::owner, false);
  if (!model) return tl::unexpected(model.error());
  const EndToEndLimits& limits = c.entry.numerics == Numerics::f32 ? end_to_end_f32 : end_to_end_released;
  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) -> Status {
    ModelRun run(**model, 1, c.models.threads(), &watcher);
    auto logits = run.step(*prompt, Wanted::last);
    if (!logits) return tl::unexpected(logits.error());
    auto ids = run_greedy(run, std::move(*logits), output->size());
    if (!ids) return tl::unexpected(ids.error());
    judge_greedy("output", *ids, *output, *margins, limits.margin, report);
    return {};
  };
  c.report.set_present(1);
  return judge_with_tries((*model)->config(), c.tries(false),
                          {c.witness, *prompt, static_cast<std::int64_t>(prompt->size())}, attempt, c.report);
}

}  // namespace cachalot
