// SPDX-License-Identifier: Apache-2.0
// The long text of a trained model.
#include <algorithm>
#include <cmath>

#include "verify/model_cases.h"
#include "verify/nudge.h"

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

// Returns the rows that pick another token than the golden one though its margin is above the limit.
std::vector<std::int64_t> judge_text(const TrainedText& t, std::span<const float> logits, std::int64_t vocab,
                                     const TrainedLimits& limits, CaseReport& report) {
  const std::int64_t length = t.ids.extent(0), n = t.top_ids.extent(1);
  std::vector<float> top, sums;
  std::vector<double> nll;
  std::int64_t differs = 0;
  std::vector<std::int64_t> wrong;
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
    if (margin <= limits.margin) continue;
    wrong.push_back(r);
    if (wrong.size() == 1) {
      first =
          fmt::format("; position {}: {}, golden {} with a margin of {:.3f}", r, best, t.top_ids.numbers[at], margin);
    }
  }
  report.add({"top_ids", !wrong.empty() ? Verdict::fail : Verdict::pass,
              fmt::format("{} rows, other best token in {}{}", length, differs, first),
              fmt::format("equal where the margin is above {:g}", limits.margin), !wrong.empty() ? Tolerance::any : 0});
  report.compare("top_logits", top, t.top_logits.values, limits.logits);
  report.compare("logsumexp", sums, t.logsumexp.values, limits.logits);

  const double want = mean(std::vector<double>(t.nll.values.begin(), t.nll.values.end()));
  const double off = std::abs(mean(nll) - want) / want;
  report.add({"nll", off <= limits.nll ? Verdict::pass : Verdict::fail,
              fmt::format("mean {:.6f}, golden {:.6f}, off by {:.4f}%", mean(nll), want, 100 * off),
              fmt::format("{:g}%", 100 * limits.nll), off / limits.nll});
  return wrong;
}

// The same few for everybody. A fault that is no rounding is there in every one of them.
constexpr std::uint32_t nudges = 8;

// Logits of every row of the text.
Expected<std::vector<float>> run_text(const Model& model, int threads, const GoldenTensor& ids, Observer* observer) {
  ModelRun run(model, 1, threads);
  return run.step(ids.numbers, Wanted::all, observer);
}

// Judges the text. In `f32` flips are rare, and an error does not go away by moving a mix by 1e-7: what is beyond a
// limit is shown to hang on a rounding where the same engine, nudged, is within it. In `released` every nudge flips
// something somewhere, so the whole text tells nothing; there a row that picks another token is shown to hang on a
// rounding where one of the nudges makes that very row pick the golden one.
//
// A nudge moves a value that lies exactly on a tie of the index queries' codes to either side by chance; so in `f32`
// each such value is also moved across its tie, one at a time: if that alone brings the text within its limits, this is
// the flip.
constexpr std::size_t most_ties = 32;

Status judge_with_nudges(const Model& model, int threads, const TrainedText& text, const TrainedLimits& limits,
                         Numerics numerics, CaseReport& report) {
  const std::int64_t vocab = model.config().vocab_size;
  auto logits = run_text(model, threads, text.ids, nullptr);
  if (!logits) return tl::unexpected(logits.error());
  CaseReport plain("");
  std::vector<std::int64_t> wrong = judge_text(text, *logits, vocab, limits, plain);
  std::vector<Finding> findings(plain.findings().begin(), plain.findings().end());
  const auto failed = [](const Finding& f) { return f.verdict == Verdict::fail; };
  std::vector<bool> beyond;
  for (const Finding& f : findings) beyond.push_back(failed(f));
  const auto try_again = [&](Observer& observer, std::string_view how) -> Status {
    logits = run_text(model, threads, text.ids, &observer);
    if (!logits) return tl::unexpected(logits.error());
    CaseReport again("");
    judge_text(text, *logits, vocab, limits, again);
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (!beyond[i]) continue;
      const Finding& other = again.findings()[i];
      if (numerics != Numerics::f32 || failed(other) || !failed(findings[i])) continue;
      findings[i].error += fmt::format("; within the limit once {}: {}", how, other.error);
      findings[i].verdict = Verdict::pass;
      findings[i].used = std::min(findings[i].used, other.used);
    }
    return {};
  };
  const auto open = [&] { return std::ranges::any_of(findings, failed); };
  if (numerics == Numerics::f32 && open()) {
    AcrossTies look("");
    if (auto ran = run_text(model, threads, text.ids, &look); !ran) return tl::unexpected(ran.error());
    for (std::size_t i = 0; i < std::min(most_ties, look.places().size()) && open(); ++i) {
      AcrossTies across(look.places()[i]);
      if (Status done = try_again(across, fmt::format("{} is moved across its tie", look.places()[i])); !done)
        return done;
    }
  }
  for (std::uint32_t n = 1; n <= nudges && open(); ++n) {
    Nudge nudge(n);
    if (Status done = try_again(nudge, fmt::format("the mixes are nudged by one f32 unit (try {})", n)); !done)
      return done;
    std::erase_if(wrong, [&](std::int64_t r) {
      const auto row = std::span(*logits).subspan(static_cast<std::size_t>(r * vocab), static_cast<std::size_t>(vocab));
      return best_of(row).index == text.top_ids.numbers[static_cast<std::size_t>(r * text.top_ids.extent(1))];
    });
  }
  for (Finding& f : findings) {
    if (f.tensor != "top_ids" || !failed(f)) continue;
    f.error += fmt::format("; rows that none of {} nudges of the mixes by one f32 unit moves to the golden token: {}",
                           nudges, wrong.size());
    if (wrong.empty()) f.verdict = Verdict::pass;
  }
  for (Finding& f : findings) report.add(std::move(f));
  return {};
}

}  // namespace

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
  const TrainedLimits& limits = numerics == Numerics::f32 ? trained_f32 : trained_released;

  ModelRun run(**model, 1, models.threads());
  auto start = run.step(columns(ids.numbers, length, 0, greedy_from), Wanted::last);
  if (!start) return tl::unexpected(start.error());
  auto got = run_greedy(run, std::move(*start), greedy.numbers.size());
  if (!got) return tl::unexpected(got.error());
  const std::vector<double> wide(margins.values.begin(), margins.values.end());
  judge_greedy("greedy_from_100", *got, greedy.numbers, wide, limits.margin, report);
  const TrainedText text{std::move(ids), std::move(top_ids), std::move(top_logits), std::move(sums), std::move(nll)};
  if (Status done = judge_with_nudges(**model, models.threads(), text, limits, numerics, report); !done) return done;
  golden->close(report);
  return {};
}

}  // namespace cachalot
