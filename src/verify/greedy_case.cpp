// SPDX-License-Identifier: Apache-2.0
// Greedy decoding, and the long text of a trained model.
#include <algorithm>
#include <cmath>

#include "verify/model_cases.h"

namespace cachalot {
namespace {

double log_sum_exp(std::span<const float> row) {
  const double top = std::ranges::max(row);
  double sum = 0;
  for (const float v : row) sum += std::exp(v - top);
  return top + std::log(sum);
}

double mean(std::span<const double> numbers) {
  double sum = 0;
  for (const double n : numbers) sum += n;
  return sum / static_cast<double>(numbers.size());
}

// The text of a trained model's golden file.
struct TrainedText {
  GoldenTensor ids;         // [length]
  GoldenTensor top_ids;     // [length, n], best first
  GoldenTensor top_logits;  // likewise
  GoldenTensor logsumexp;   // [length]
  GoldenTensor nll;         // [length - 1], of the next id
};

void judge_text(const TrainedText& t, std::span<const float> logits, std::int64_t vocab, const TrainedLimits& limits,
                CaseReport& report) {
  const std::int64_t length = t.ids.extent(0), n = t.top_ids.extent(1);
  std::vector<float> top, sums;
  std::vector<double> nll;
  std::int64_t differs = 0, wrong = 0;
  std::string first;
  for (std::int64_t r = 0; r < length; ++r) {
    const auto row = logits.subspan(static_cast<std::size_t>(r * vocab), static_cast<std::size_t>(vocab));
    const double sum = log_sum_exp(row);
    sums.push_back(static_cast<float>(sum));
    if (r + 1 < length)
      nll.push_back(sum - row[static_cast<std::size_t>(t.ids.numbers[static_cast<std::size_t>(r + 1)])]);
    const auto at = static_cast<std::size_t>(r * n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      top.push_back(row[static_cast<std::size_t>(t.top_ids.numbers[at + i])]);
    }
    const std::int64_t best = best_of(row).index;
    if (best == t.top_ids.numbers[at]) continue;
    ++differs;
    const double margin = static_cast<double>(t.top_logits.values[at]) - t.top_logits.values[at + 1];
    if (margin > limits.margin && wrong++ == 0) {
      first =
          fmt::format("; position {}: {}, golden {} with a margin of {:.3f}", r, best, t.top_ids.numbers[at], margin);
    }
  }
  report.add({"top_ids", wrong > 0 ? Verdict::fail : Verdict::pass,
              fmt::format("{} rows, other best token in {}{}", length, differs, first),
              fmt::format("equal where the margin is above {:g}", limits.margin), wrong > 0 ? Tolerance::any : 0});
  report.compare("top_logits", top, t.top_logits.values, limits.logits);
  report.compare("logsumexp", sums, t.logsumexp.values, limits.logits);

  const double want = mean(std::vector<double>(t.nll.values.begin(), t.nll.values.end()));
  const double off = std::abs(mean(nll) - want) / want;
  report.add({"nll", off <= limits.nll ? Verdict::pass : Verdict::fail,
              fmt::format("mean {:.6f}, golden {:.6f}, off by {:.4f}%", mean(nll), want, 100 * off),
              fmt::format("{:g}%", 100 * limits.nll), off / limits.nll});
}

}  // namespace

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
  ModelRun run(**model, 1);
  auto logits = run.step(*prompt, Wanted::last);
  if (!logits) return tl::unexpected(logits.error());
  auto ids = run_greedy(run, std::move(*logits), output->size());
  if (!ids) return tl::unexpected(ids.error());
  const EndToEndLimits& limits = c.entry.numerics == Numerics::f32 ? end_to_end_f32 : end_to_end_released;
  judge_greedy("output", *ids, *output, *margins, limits.margin, c.report);
  c.report.set_present(1);
  return {};
}

Status verify_trained(const std::filesystem::path& file, Numerics numerics, ModelSource& models, CaseReport& report) {
  auto golden = GoldenFile::open(file);
  if (!golden) return tl::unexpected(golden.error());
  auto read = golden->read_all({{"input_ids", 'n', 1},
                                {"top_ids", 'n', 2},
                                {"top_logits", 'f', 2},
                                {"logsumexp", 'f', 1},
                                {"nll", 'f', 1},
                                {"greedy_from_100", 'n', 1},
                                {"greedy_margins", 'f', 1}});
  if (!read) return tl::unexpected(read.error());
  auto& [ids, top_ids, top_logits, sums, nll, greedy, margins] = *read;
  auto model = models.get(numerics, IndexKeys::owner, false);
  if (!model) return tl::unexpected(model.error());
  constexpr std::int64_t greedy_from = 100;  // as the tensor's name says
  const std::int64_t length = ids.extent(0), n = top_ids.extent(1), vocab = (*model)->config().vocab_size;
  if (length < greedy_from || n < 2) {
    return fail(Errc::format, "{}: {} ids and the best {}, expected at least {} and 2", golden->path(), length, n,
                greedy_from);
  }
  for (const Status& fit : {golden->expect_shape(top_logits, {length, n}), golden->expect_shape(top_ids, {length, n}),
                            golden->expect_shape(sums, {length}), golden->expect_shape(nll, {length - 1}),
                            golden->expect_shape(margins, {greedy.extent(0)}), golden->expect_range(ids, 0, vocab),
                            golden->expect_range(top_ids, 0, vocab)}) {
    if (!fit) return fit;
  }
  ModelRun text(**model, 1);
  auto logits = text.step(ids.numbers, Wanted::all);
  if (!logits) return tl::unexpected(logits.error());
  const TrainedLimits& limits = numerics == Numerics::f32 ? trained_f32 : trained_released;

  ModelRun run(**model, 1);
  auto start = run.step(columns(ids.numbers, length, 0, greedy_from), Wanted::last);
  if (!start) return tl::unexpected(start.error());
  auto got = run_greedy(run, std::move(*start), greedy.numbers.size());
  if (!got) return tl::unexpected(got.error());
  const std::vector<double> wide(margins.values.begin(), margins.values.end());
  judge_greedy("greedy_from_100", *got, greedy.numbers, wide, limits.margin, report);
  judge_text({std::move(ids), std::move(top_ids), std::move(top_logits), std::move(sums), std::move(nll)}, *logits,
             vocab, limits, report);
  golden->close(report);
  return {};
}

}  // namespace cachalot
