// SPDX-License-Identifier: Apache-2.0
// A prompt in one forward, and one step behind it: end to end, and with every layer fed the golden inputs.
#include <algorithm>

#include "verify/cases/layer_feed.h"
#include "verify/cases/model_cases.h"
#include "verify/end_to_end.h"

namespace cachalot {
namespace {

constexpr std::string_view ids_name = "input_ids";
constexpr std::string_view logits_name = "logits_all";

// Logits of all rows, judged end to end. ids: [batch, rows].
Status judge_prompt(ModelCase& c, const Model& model, const GoldenTensor& ids, const GoldenTensor& want,
                    RunObserver& watcher, CaseReport& report) {
  const std::int64_t batch = ids.extent(0), rows = ids.extent(1);
  ModelRun run(model, batch, c.models.threads(), &watcher);
  auto got = run.step(ids.numbers, Wanted::all);
  if (!got) return tl::unexpected(got.error());
  EndToEndRows table{.width = want.last(), .short_prompt = rows <= short_prompt, .rows = {}, .got = {}, .want = {}};
  for (std::int64_t r = 0; r < batch * rows; ++r) {
    const auto first = static_cast<std::size_t>(r * table.width), width = static_cast<std::size_t>(table.width);
    table.add({.where = fmt::format("sequence {} position {}", r / rows, r % rows)},
              std::span(*got).subspan(first, width), std::span(want.values).subspan(first, width));
  }
  judge_end_to_end(logits_name, table, c.entry.numerics, report);
  return {};
}

// The decode case of the same numerics whose tokens lead to a step; owner keys, as the taps were made.
Expected<std::vector<std::int64_t>> tokens_before(const ModelCase& c, const GoldenTensor& ids, std::int64_t prefill,
                                                  std::int64_t position) {
  for (const ManifestEntry& entry : c.manifest) {
    const Json* keys = entry.json.find("index_keys");
    if (entry.kind != "decode" || entry.numerics != c.entry.numerics || keys == nullptr || *keys != Json("owner"))
      continue;
    auto golden = GoldenFile::open(c.folder / entry.file);
    if (!golden) return tl::unexpected(golden.error());
    auto all = golden->read({ids_name, 'n', 2});
    if (!all) return tl::unexpected(all.error());
    const auto its_prefill = entry.number("prefill");
    if (!its_prefill || *its_prefill != prefill || all->extent(0) != ids.extent(0) || all->extent(1) <= position)
      continue;
    if (columns(all->numbers, all->last(), position, 1) != ids.numbers) continue;
    return columns(all->numbers, all->last(), 0, position);
  }
  return fail(Errc::missing, "no decode case with owner keys and a prefill of {} has the tokens before position {}",
              prefill, position);
}

}  // namespace

Status verify_prefill(ModelCase& c) {
  auto golden = GoldenFile::open(c.folder / c.entry.file);
  if (!golden) return tl::unexpected(golden.error());
  auto tokens = c.entry.number("tokens");
  if (!tokens) return tl::unexpected(tokens.error());
  auto ids = golden->read({ids_name, 'n', 2});
  if (!ids) return tl::unexpected(ids.error());
  auto want = golden->read({logits_name, 'f', 3});
  if (!want) return tl::unexpected(want.error());
  auto model = c.models.get(c.entry.numerics, IndexKeys::owner, false);
  if (!model) return tl::unexpected(model.error());
  const std::int64_t batch = ids->extent(0);
  for (const Status& fit : {golden->expect_shape(*ids, {batch, *tokens}),
                            golden->expect_shape(*want, {batch, *tokens, (*model)->config().vocab_size})}) {
    if (!fit) return fit;
  }
  if (batch * *tokens == 0) return fail(Errc::format, "{}: no token", golden->path());
  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) {
    return judge_prompt(c, **model, *ids, *want, watcher, report);
  };
  if (Status done = judge_with_tries((*model)->config(), c.tries(*tokens <= short_prompt),
                                     {c.witness, ids->numbers, *tokens}, attempt, c.report);
      !done) {
    return done;
  }
  if (golden->count() > 2) {
    ModelRun run(**model, batch, c.models.threads());
    if (Status done = judge_layers(c, run, *golden, *ids, *want, {ids_name, logits_name}, c.report); !done) return done;
  }
  golden->close(c.report);
  return {};
}

Status verify_step(ModelCase& c) {
  auto golden = GoldenFile::open(c.folder / c.entry.file);
  if (!golden) return tl::unexpected(golden.error());
  auto position = c.entry.number("position");
  if (!position) return tl::unexpected(position.error());
  auto prefill = c.entry.number("prefill");
  if (!prefill) return tl::unexpected(prefill.error());
  auto batch = c.entry.number("batch");
  if (!batch) return tl::unexpected(batch.error());
  auto ids = golden->read({ids_name, 'n', 2});
  if (!ids) return tl::unexpected(ids.error());
  auto want = golden->read({logits_name, 'f', 3});
  if (!want) return tl::unexpected(want.error());
  auto model = c.models.get(c.entry.numerics, IndexKeys::owner, false);
  if (!model) return tl::unexpected(model.error());
  for (const Status& fit : {golden->expect_shape(*ids, {*batch, 1}),
                            golden->expect_shape(*want, {*batch, 1, (*model)->config().vocab_size})}) {
    if (!fit) return fit;
  }
  if (*batch == 0 || *prefill == 0 || *position < *prefill) {
    return fail(Errc::format, "{}: a step at {} of {} sequences after a prefill of {}", golden->path(), *position,
                *batch, *prefill);
  }
  auto before = tokens_before(c, *ids, *prefill, *position);
  if (!before) return tl::unexpected(before.error());

  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) -> Status {
    ModelRun run(**model, *batch, c.models.threads(), &watcher);
    auto prompt = run.step(columns(*before, *position, 0, *prefill), Wanted::last);
    if (!prompt) return tl::unexpected(prompt.error());
    for (std::int64_t p = *prefill; p < *position; ++p) {
      c.progress(fmt::format("position {} of {}", p, *position));
      auto step = run.step(columns(*before, *position, p, 1), Wanted::last);
      if (!step) return tl::unexpected(step.error());
    }
    return judge_layers(c, run, *golden, *ids, *want, {ids_name, logits_name}, report);
  };
  const KnownCodes known{c.witness, *before, *position};
  if (Status done = judge_with_tries((*model)->config(), c.tries(false), known, attempt, c.report); !done) return done;
  golden->close(c.report);
  return {};
}

}  // namespace cachalot
