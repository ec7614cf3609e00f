// SPDX-License-Identifier: Apache-2.0
#include "verify/cases/layer_feed.h"

#include <algorithm>

#include "verify/lab/attention_flip.h"

namespace cachalot {
namespace {

constexpr std::string_view sparse_out = "attn.sparse_out";

// What one run of the prompt showed.
struct Fed {
  ModelRun& run;
  TapObserver observer;
  CaseReport report;
};

const Finding* find(const CaseReport& report, std::string_view tensor) {
  const auto at = std::ranges::find(report.findings(), tensor, &Finding::tensor);
  return at == report.findings().end() ? nullptr : &*at;
}

// The heads of a layer's attention that are beyond the limit of an element, each with the rounding that explains it.
// The finding is a pass where all are explained and the rest of the tensor is within the limits.
Finding explain_heads(const Finding& failed, const Fed& fed, const TapObserver::Taps& taps, const ReferenceCall& call) {
  const GoldenTap& want = taps.at(failed.tensor);
  const std::string prefix = failed.tensor.substr(0, failed.tensor.size() - sparse_out.size());
  const auto qr = taps.find(prefix + "attn.qr"), lists = taps.find(prefix + "attn.topk_idxs");
  const auto own = fed.observer.own_values(failed.tensor);
  const Model& model = fed.run.model();
  const std::int64_t layer = tap_layer(failed.tensor), heads = model.config().n_heads, dim = want.width / heads;
  if (qr == taps.end() || lists == taps.end() || layer >= model.config().n_layers ||
      static_cast<std::int64_t>(own.size()) != want.rows ||
      own.front().size() != static_cast<std::size_t>(want.width)) {
    return failed;
  }
  std::vector<float> rest;  // own values, golden ones in the heads that are explained
  std::string words;
  for (std::int64_t row = 0; row < want.rows; ++row) {
    const AttentionRow attention{
        model,
        fed.run.sequence(row / call.rows),
        layer,
        call.position(row),
        std::span(qr->second.tensor.values)
            .subspan(static_cast<std::size_t>(row * qr->second.width), static_cast<std::size_t>(qr->second.width)),
        lists->second.lists[static_cast<std::size_t>(row)]};
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto at = static_cast<std::size_t>(head * dim), count = static_cast<std::size_t>(dim);
      const auto got = std::span(own[static_cast<std::size_t>(row)]).subspan(at, count);
      const auto golden = std::span(want.tensor.values).subspan(static_cast<std::size_t>(row * want.width) + at, count);
      const bool off = error_stats(got, golden).max_ulps > tolerances::layer_bf16.max_ulps;
      const auto flip = off ? find_attention_flip(attention, head, got, golden) : std::nullopt;
      rest.insert(rest.end(), flip ? golden.begin() : got.begin(), flip ? golden.end() : got.end());
      if (flip) words += fmt::format("; row {} head {}: {}", row, head, *flip);
    }
  }
  const Judgement j = judge(error_stats(rest, want.tensor.values), tolerances::layer_bf16);
  return {failed.tensor, j.used > 1 ? Verdict::fail : Verdict::pass,
          fmt::format("{}{}; all else {}", failed.error, words.empty() ? "; no single rounding explains it" : words,
                      j.error),
          failed.allowed, j.used};
}

// The finding by the limit for probabilities that are rounded in another way (tolerances.md).
Finding judge_other_probabilities(const Finding& failed, const Fed& fed, const GoldenTap& want) {
  std::vector<float> got;
  for (const auto& row : fed.observer.own_values(failed.tensor)) got.insert(got.end(), row.begin(), row.end());
  if (got.size() != want.tensor.values.size()) return failed;
  const Tolerance& limit = tolerances::layer_attention_other;
  const Judgement j = judge(error_stats(got, want.tensor.values), limit);
  return {failed.tensor, j.used <= 1 ? Verdict::pass : Verdict::fail, "with other probability rounding " + j.error,
          j.allowed, j.used};
}

// Findings of the run with golden layer inputs, judged with the run where every operator is fed.
void merge(const Fed& layers, const Fed& operators, const TapObserver::Taps& taps, const ReferenceCall& call,
           Numerics numerics, CaseReport& report) {
  for (const Finding& f : layers.report.findings()) {
    const Finding* alone = find(operators.report, f.tensor);
    if (alone == nullptr || (f.verdict != Verdict::fail && alone->verdict != Verdict::fail)) {
      report.add(f);
      continue;
    }
    Finding judged = *alone;
    if (judged.verdict == Verdict::fail && numerics == Numerics::released && f.tensor.ends_with(sparse_out)) {
      judged = explain_heads(judged, operators, taps, call);
    }
    // A backend whose e^x differs by a unit may round a probability the other way: the table has a limit for that.
    if (judged.verdict == Verdict::fail && f.tensor.ends_with(sparse_out) &&
        operators.run.model().backend().sparse_attention != reference_backend().sparse_attention) {
      judged = judge_other_probabilities(judged, operators, taps.at(f.tensor));
    }
    if (f.verdict == Verdict::fail) {
      judged.error = fmt::format("{} behind a flipped rounding; by itself {}", f.error, judged.error);
    }
    report.add(std::move(judged));
  }
}

Expected<std::vector<float>> feed(Fed& fed, Numerics numerics, const GoldenTensor& ids, bool step) {
  auto logits = fed.run.step(ids.numbers, Wanted::all, &fed.observer);
  if (logits) fed.observer.compare(numerics, fed.report, step ? TapRules::step : TapRules::prompt);
  return logits;
}

}  // namespace

Status judge_layers(ModelCase& c, ModelRun& run, GoldenFile& golden, const GoldenTensor& ids,
                    const GoldenTensor& logits, std::initializer_list<std::string_view> not_taps, CaseReport& report) {
  const Model& model = run.model();
  const Numerics numerics = c.entry.numerics;
  const bool step = run.length() > 0;
  const ReferenceCall call{.start = run.length(), .rows = ids.extent(1), .window = model.config().window_size};
  auto taps = read_taps(golden, model.config(), call, ids.extent(0), not_taps);
  if (!taps) return tl::unexpected(taps.error());

  Fed layers{run, TapObserver(*taps), CaseReport("")};
  auto got = feed(layers, numerics, ids, step);
  if (!got) return tl::unexpected(got.error());
  if (!step && layers.report.verdict() == Verdict::fail) {
    ModelRun fresh(model, ids.extent(0), c.models.threads());
    Fed operators{fresh, TapObserver(*taps, TapObserver::Feed::everything), CaseReport("")};
    auto again = feed(operators, numerics, ids, step);
    if (!again) return tl::unexpected(again.error());
    merge(layers, operators, *taps, call, numerics, report);
  } else {
    for (const Finding& f : layers.report.findings()) report.add(f);
  }
  const Tolerance& tolerance = numerics == Numerics::released ? tolerances::layer_released_f32
                               : step                         ? tolerances::step_f32
                                                              : tolerances::layer_f32;
  report.compare("logits_all behind golden layers", *got, logits.values, tolerance, !step || numerics == Numerics::f32);
  return {};
}

}  // namespace cachalot
