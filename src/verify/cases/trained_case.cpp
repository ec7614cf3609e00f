// SPDX-License-Identifier: Apache-2.0
// The long text of a trained model.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "verify/cases/model_cases.h"
#include "verify/lab/nudge.h"
#include "verify/lab/sample.h"

namespace cachalot {
namespace {

double log_sum_exp(std::span<const float> row) {
  const double top = std::ranges::max(row);
  double sum = 0;
  for (const float v : row) sum += std::exp(v - top);
  return top + std::log(sum);
}

double mean(std::span<const float> numbers) {
  double sum = 0;
  for (const float n : numbers) sum += n;
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

// What a run makes of the text, under the names of the golden file.
struct TextNumbers {
  std::vector<float> top_logits;   // [length, n]: those of the golden top_ids
  std::vector<float> logsumexp;    // [length]
  std::vector<float> nll;          // [length - 1]
  std::vector<std::int64_t> best;  // [length]
};

std::int64_t best_of_row(std::span<const float> logits, std::int64_t row, std::int64_t vocab) {
  return best_of(logits.subspan(static_cast<std::size_t>(row * vocab), static_cast<std::size_t>(vocab))).index;
}

// logits: [length, vocab].
TextNumbers numbers_of(const TrainedText& t, std::span<const float> logits, std::int64_t vocab) {
  TextNumbers numbers;
  const std::int64_t length = t.ids.extent(0), n = t.top_ids.extent(1);
  for (std::int64_t r = 0; r < length; ++r) {
    const auto row = logits.subspan(static_cast<std::size_t>(r * vocab), static_cast<std::size_t>(vocab));
    const double sum = log_sum_exp(row);
    numbers.logsumexp.push_back(static_cast<float>(sum));
    if (r + 1 < length) {
      const auto next = static_cast<std::size_t>(t.ids.numbers[static_cast<std::size_t>(r + 1)]);
      numbers.nll.push_back(static_cast<float>(sum - row[next]));
    }
    for (std::int64_t i = r * n; i < (r + 1) * n; ++i) {
      numbers.top_logits.push_back(row[static_cast<std::size_t>(t.top_ids.numbers[static_cast<std::size_t>(i)])]);
    }
    numbers.best.push_back(best_of_row(logits, r, vocab));
  }
  return numbers;
}

// Logits of every row.
Expected<std::vector<float>> run_text(const Model& model, int threads, const TrainedText& text, RunObserver& watcher) {
  ModelRun run(model, 1, threads, &watcher);
  return run.step(text.ids.numbers, Wanted::all);
}

void judge_nll(const TrainedText& t, std::span<const float> nll, double limit, CaseReport& report) {
  const double got = mean(nll), want = mean(t.nll.values), off = std::abs(got - want) / want;
  report.add({"nll", off <= limit ? Verdict::pass : Verdict::fail,
              fmt::format("mean {:.6f}, golden {:.6f}, off by {:.4f}%", got, want, 100 * off),
              fmt::format("{:g}%", 100 * limit), off / limit});
}

// `f32`: flips are rare, so one run must do.
void judge_run(const TrainedText& t, const TextNumbers& run, CaseReport& report) {
  const std::int64_t n = t.top_ids.extent(1);
  std::int64_t differs = 0, wrong = 0;
  std::string first;
  for (std::size_t r = 0; r < run.best.size(); ++r) {
    const std::size_t at = r * static_cast<std::size_t>(n);
    if (run.best[r] == t.top_ids.numbers[at]) continue;
    ++differs;
    const double margin = static_cast<double>(t.top_logits.values[at]) - t.top_logits.values[at + 1];
    if (margin <= trained_text_f32.margin || wrong++ > 0) continue;
    first = fmt::format("; position {}: {}, golden {} with a margin of {:.3f}", r, run.best[r], t.top_ids.numbers[at],
                        margin);
  }
  report.add({"top_ids", wrong > 0 ? Verdict::fail : Verdict::pass,
              fmt::format("{} rows, other best token in {}{}", run.best.size(), differs, first),
              fmt::format("equal where the margin is above {:g}", trained_text_f32.margin),
              wrong > 0 ? Tolerance::any : 0});
  report.compare("top_logits", run.top_logits, t.top_logits.values, tolerances::trained_f32);
  report.compare("logsumexp", run.logsumexp, t.logsumexp.values, tolerances::trained_f32);
  judge_nll(t, run.nll, trained_text_f32.nll, report);
}

Sample sample_of(std::span<const TextNumbers> runs, std::vector<float> TextNumbers::*numbers) {
  Sample sample;
  for (const TextNumbers& run : runs) sample.runs.push_back(run.*numbers);
  return sample;
}

void judge_logits(const TrainedText& t, const Sample& sample, CaseReport& report) {
  const std::span<const float> want = t.top_logits.values;
  const double off = error_stats(sample.mean(), want).rms, sigma = sample.sigma(want);
  const double limit = std::min(sample_limit(sigma, sample.runs.size()), tolerances::trained_released.rms);
  const double used = off == 0 ? 0 : off / limit;
  report.add({"top_logits", used <= 1 ? Verdict::pass : Verdict::fail,
              fmt::format("mean of {} runs rms {:.2e}; as it is {:.2e}; one run scatters by {:.2e}", sample.runs.size(),
                          off, error_stats(sample.runs.front(), want).rms, sigma),
              fmt::format("rms {:.2e}", limit), used});
}

// `released`: every nudge flips something somewhere, and so did the golden run. So the runs are a sample (sample.h).
// The first of them is the plain one. sum: of the logits of all.
void judge_runs(const TrainedText& t, std::span<const TextNumbers> runs, std::span<const float> sum, std::int64_t vocab,
                CaseReport& report) {
  const std::int64_t n = t.top_ids.extent(1), length = t.ids.extent(0);
  std::vector<std::int64_t> golden, middle, between;
  for (std::int64_t r = 0; r < length; ++r) {
    golden.push_back(t.top_ids.numbers[static_cast<std::size_t>(r * n)]);
    middle.push_back(best_of_row(sum, r, vocab));
  }
  for (const TextNumbers& run : runs.subspan(1)) between.push_back(rows_that_differ(run.best, runs.front().best));
  const std::int64_t differ = rows_that_differ(middle, golden), allowed = std::ranges::max(between);
  report.add(
      {"top_ids", differ <= allowed ? Verdict::pass : Verdict::fail,
       fmt::format("{} rows, other best token in {} by the mean of {} runs, in {} as it is; in {} between a nudged "
                   "run and the plain one",
                   length, differ, runs.size(), rows_that_differ(runs.front().best, golden), fmt::join(between, " ")),
       fmt::format("{} rows", allowed), differ == 0 ? 0 : static_cast<double>(differ) / static_cast<double>(allowed)});
  judge_logits(t, sample_of(runs, &TextNumbers::top_logits), report);
  report.compare("logsumexp", sample_of(runs, &TextNumbers::logsumexp).mean(), t.logsumexp.values,
                 tolerances::trained_released);
  judge_nll(t, sample_of(runs, &TextNumbers::nll).mean(), trained_text_released.nll, report);
}

}  // namespace

Status verify_trained(const std::filesystem::path& file, Numerics numerics, ModelSource& models,
                      const std::function<void(std::string_view)>& progress, CaseReport& report) {
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
  const TrainedText text{std::move(ids), std::move(top_ids), std::move(top_logits), std::move(sums), std::move(nll)};
  const bool f32 = numerics == Numerics::f32;
  const auto judge_greedy_text = [&](RunObserver& watcher, CaseReport& to) -> Status {
    ModelRun run(**model, 1, models.threads(), &watcher);
    auto start = run.step(columns(text.ids.numbers, length, 0, greedy_from), Wanted::last);
    if (!start) return tl::unexpected(start.error());
    auto got = run_greedy(run, std::move(*start), greedy.numbers.size());
    if (!got) return tl::unexpected(got.error());
    const std::vector<double> wide(margins.values.begin(), margins.values.end());
    judge_greedy("greedy_from_100", *got, greedy.numbers, wide,
                 f32 ? trained_text_f32.margin : trained_text_released.margin, to);
    return {};
  };
  bool as_it_is = true;
  const Attempt attempt = [&](RunObserver& watcher, CaseReport& to) -> Status {
    progress(as_it_is ? "as it is" : "with a rounding moved");
    auto logits = run_text(**model, models.threads(), text, watcher);
    if (!logits) return tl::unexpected(logits.error());
    judge_run(text, numbers_of(text, *logits, vocab), to);
    const bool hopeless = !as_it_is && to.verdict() == Verdict::fail;  // a try must do everywhere
    as_it_is = false;
    return hopeless ? Status{} : judge_greedy_text(watcher, to);
  };
  if (f32) {
    const CodeWitness nothing;
    const TryRules all{.ties = true, .nudged = true};
    Status done = judge_with_tries((*model)->config(), all, {nothing, text.ids.numbers, length}, attempt, report);
    if (!done) return done;
  } else {
    RunObserver plain;
    std::vector<TextNumbers> runs;
    std::vector<float> sum(static_cast<std::size_t>(length * vocab), 0.0f);
    for (std::uint32_t seed = 0; seed <= nudges; ++seed) {
      Nudge nudge(seed);
      progress(fmt::format("run {} of {}", seed + 1, nudges + 1));
      auto logits = seed == 0 ? run_text(**model, models.threads(), text, plain)
                              : run_text(**model, models.threads(), text, nudge);
      if (!logits) return tl::unexpected(logits.error());
      runs.push_back(numbers_of(text, *logits, vocab));
      std::ranges::transform(sum, *logits, sum.begin(), std::plus<float>());
    }
    if (Status done = judge_greedy_text(plain, report); !done) return done;
    judge_runs(text, runs, sum, vocab, report);
  }
  golden->close(report);
  return {};
}

}  // namespace cachalot
