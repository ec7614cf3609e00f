// SPDX-License-Identifier: Apache-2.0
// A prefill, then steps of given tokens, and the drafts after some of them.
#include <algorithm>

#include "verify/cases/model_cases.h"
#include "verify/end_to_end.h"

namespace cachalot {
namespace {

struct DecodeShape {
  std::int64_t prefill, steps, batch, vocab;
};

// Golden drafts after one position, and the engine's.
struct DraftPair {
  std::int64_t position;
  GoldenTensor ids;         // [batch, 1 + block]
  GoldenTensor logits;      // [batch, block, vocab]
  GoldenTensor confidence;  // [batch, block]
  Drafts own;
};

std::string draft_name(std::string_view what, std::int64_t position) {
  return fmt::format("dspark.{}.{}", what, position);
}

Expected<DraftPair> run_drafts(ModelRun& run, GoldenFile& golden, const DecodeShape& shape, std::int64_t position,
                               const GoldenTensor& ids) {
  const std::string names[] = {draft_name("ids", position), draft_name("logits", position),
                               draft_name("confidence", position)};
  auto read = golden.read_all({{names[0], 'n', 2}, {names[1], 'f', 3}, {names[2], 'f', 2}});
  if (!read) return tl::unexpected(read.error());
  const std::int64_t block = run.model().config().dspark_block_size;
  DraftPair pair{position, std::move((*read)[0]), std::move((*read)[1]), std::move((*read)[2]), {}};
  for (const Status& fit : {golden.expect_shape(pair.ids, {shape.batch, 1 + block}),
                            golden.expect_shape(pair.logits, {shape.batch, block, shape.vocab}),
                            golden.expect_shape(pair.confidence, {shape.batch, block})}) {
    if (!fit) return tl::unexpected(fit.error());
  }
  const std::vector<std::int64_t> next = columns(ids.numbers, ids.last(), position + 1, 1);
  if (columns(pair.ids.numbers, 1 + block, 0, 1) != next) {
    return fail(Errc::format, "{}: {} does not begin with the token after position {} of input_ids", golden.path(),
                names[0], position);
  }
  auto own = run.draft(next);
  if (!own) return tl::unexpected(own.error());
  pair.own = std::move(*own);
  return pair;
}

// Behind a draft that the margin allowed to differ, the block goes on from another token.
void judge_drafts(std::span<const DraftPair> pairs, const DecodeShape& shape, Numerics numerics, CaseReport& report) {
  const std::int64_t block = pairs.front().own.block;
  EndToEndRows logits{.width = shape.vocab, .rows = {}, .got = {}, .want = {}};
  EndToEndRows confidence{.width = 1, .argmax = false, .rows = {}, .got = {}, .want = {}};
  std::int64_t others = 0, unexplained = 0;
  std::string first;
  for (const DraftPair& pair : pairs) {
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      bool left = false;
      for (std::int64_t i = 0; i < block; ++i) {
        const std::int64_t row = b * block + i;
        const EndToEndRow place{fmt::format("sequence {} position {} draft {}", b, pair.position, i), left};
        const auto at = static_cast<std::size_t>(row), width = static_cast<std::size_t>(shape.vocab);
        const auto got = std::span(pair.own.logits).subspan(at * width, width);
        const auto want = std::span(pair.logits.values).subspan(at * width, width);
        logits.add(place, got, want);
        confidence.add(place, std::span(pair.own.confidence).subspan(at, 1),
                       std::span(pair.confidence.values).subspan(at, 1));
        const auto id = static_cast<std::size_t>(b * (1 + block) + 1 + i);
        if (left || raw(pair.own.ids[id]) == pair.ids.numbers[id]) continue;
        left = true;
        ++others;
        const EndToEndLimits& limits = numerics == Numerics::f32 ? end_to_end_f32 : end_to_end_released;
        const double margin = best_of(want).margin;
        if (margin <= limits.margin) continue;
        if (unexplained++ == 0) {
          first = fmt::format("; {}: {}, golden {} with a margin of {:.3f}", place.where, raw(pair.own.ids[id]),
                              pair.ids.numbers[id], margin);
        }
      }
    }
  }
  judge_end_to_end("dspark.logits", logits, numerics, report);
  judge_end_to_end("dspark.confidence", confidence, numerics, report);
  report.add({"dspark.ids", unexplained > 0 ? Verdict::fail : Verdict::pass,
              fmt::format("{} blocks, other draft in {}{}", pairs.size() * static_cast<std::size_t>(shape.batch),
                          others, first),
              "equal above the margin", unexplained > 0 ? Tolerance::any : 0});
}

Expected<GoldenTensor> read_logits(GoldenFile& golden, const std::string& name, const DecodeShape& shape) {
  auto logits = golden.read({name, 'f', 2});
  if (!logits) return logits;
  if (Status fit = golden.expect_shape(*logits, {shape.batch, shape.vocab}); !fit) return tl::unexpected(fit.error());
  return logits;
}

Status judge_steps(ModelCase& c, const Model& model, GoldenFile& golden, const GoldenTensor& ids,
                   const DecodeShape& shape, RunObserver& watcher, CaseReport& report) {
  ModelRun run(model, shape.batch, c.models.threads(), &watcher);
  EndToEndRows table{.width = shape.vocab, .rows = {}, .got = {}, .want = {}};
  std::vector<DraftPair> pairs;
  const auto step = [&](std::int64_t first, std::int64_t count, const std::string& name) -> Status {
    auto logits = run.step(columns(ids.numbers, ids.last(), first, count), Wanted::last);
    if (!logits) return tl::unexpected(logits.error());
    auto expected = read_logits(golden, name, shape);
    if (!expected) return tl::unexpected(expected.error());
    const std::int64_t position = first + count - 1;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const auto width = static_cast<std::size_t>(shape.vocab), at = static_cast<std::size_t>(b) * width;
      table.add({.where = fmt::format("sequence {} position {}", b, position)}, std::span(*logits).subspan(at, width),
                std::span(expected->values).subspan(at, width));
    }
    if (!golden.has(draft_name("ids", position))) return {};
    if (position + 1 >= ids.extent(1)) {
      return fail(Errc::format, "{}: drafts after position {}, but input_ids ends there", golden.path(), position);
    }
    auto pair = run_drafts(run, golden, shape, position, ids);
    if (!pair) return tl::unexpected(pair.error());
    pairs.push_back(std::move(*pair));
    return {};
  };
  if (Status done = step(0, shape.prefill, "logits.prefill"); !done) return done;
  const std::int64_t end = shape.prefill + shape.steps;
  for (std::int64_t p = shape.prefill; p < end; ++p) {
    c.progress(fmt::format("position {} of {}", p, end));
    if (Status done = step(p, 1, fmt::format("logits.{}", p)); !done) return done;
  }
  judge_end_to_end("logits", table, c.entry.numerics, report);
  if (!pairs.empty()) judge_drafts(pairs, shape, c.entry.numerics, report);
  return {};
}

}  // namespace

Status verify_decode(ModelCase& c) {
  auto golden = GoldenFile::open(c.folder / c.entry.file);
  if (!golden) return tl::unexpected(golden.error());
  DecodeShape shape{};
  for (const auto& [key, to] :
       {std::pair("prefill", &shape.prefill), std::pair("steps", &shape.steps), std::pair("batch", &shape.batch)}) {
    auto number = c.entry.number(key);
    if (!number) return tl::unexpected(number.error());
    *to = *number;
  }
  const Json* keys = c.entry.json.find("index_keys");
  const bool owner = keys != nullptr && *keys == Json("owner");
  if (!owner && (keys == nullptr || *keys != Json("published-slot"))) {
    return fail(Errc::format, "{}: \"index_keys\" is neither owner nor published-slot", golden->path());
  }
  auto ids = golden->read({"input_ids", 'n', 2});
  if (!ids) return tl::unexpected(ids.error());
  const std::int64_t end = shape.prefill + shape.steps;
  if (shape.batch < 1 || shape.prefill < 1 || ids->extent(0) != shape.batch || ids->extent(1) < end) {
    return fail(Errc::format, "{}: input_ids has shape [{}, {}], expected {} sequences of at least {}", golden->path(),
                ids->extent(0), ids->extent(1), shape.batch, end);
  }
  const bool drafts =
      std::ranges::any_of(golden->tensors(), [](const TensorInfo& t) { return t.name.starts_with("dspark."); });
  auto model = c.models.get(c.entry.numerics, owner ? IndexKeys::owner : IndexKeys::published_slot, drafts);
  if (!model) return tl::unexpected(model.error());
  const Config& config = (*model)->config();
  shape.vocab = config.vocab_size;
  if (drafts && config.n_mtp_layers == 0)
    return fail(Errc::format, "{}: drafts, but the model has no draft stage", golden->path());

  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) {
    return judge_steps(c, **model, *golden, *ids, shape, watcher, report);
  };
  // With published-slot keys the steps compute something else than the prompt whose codes are known.
  const CodeWitness nothing;
  const KnownCodes known{owner ? c.witness : nothing, ids->numbers, ids->last()};
  if (Status done = judge_with_tries(config, c.tries(false), known, attempt, c.report); !done) return done;
  golden->close(c.report);
  return {};
}

}  // namespace cachalot
