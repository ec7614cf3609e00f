// SPDX-License-Identifier: Apache-2.0
// The forward over rows: embedding, layers, head. Source: spec 1.
#include <algorithm>
#include <new>

#include "model/pass.h"
#include "tensor/transfer.h"

namespace cachalot {
namespace {

std::vector<SequenceRows> sequence_rows(const Step& step, bool drops) {
  std::vector<SequenceRows> all;
  for (std::size_t r = 0; r < step.rows.size(); ++r) {
    Sequence* s = step.sequences[static_cast<std::size_t>(step.rows[r].sequence)];
    if (all.empty() || all.back().sequence != s) all.push_back({s, static_cast<std::int64_t>(r), 0, s->length()});
    ++all.back().count;
    if (drops && step.rows[r].global_only) ++all.back().global_only;
  }
  return all;
}

}  // namespace

Status Model::forward(Context& context, const Step& step, std::vector<float>& logits) const {
  check(&context.memory == &memory(), "a model runs in a context of its memory");
  logits.clear();
  if (Status good = check_step(step); !good) return good;
  if (step.rows.empty()) return {};
  try {
    return run(context, step, logits);
  } catch (const std::bad_alloc&) {
    return fail(Errc::memory, "a step of {} rows: not enough memory for its scratch; give the prompt in smaller chunks",
                step.rows.size());
  }
}

Status Model::run(Context& context, const Step& step, std::vector<float>& logits) const {
  const Config& c = config();
  const Arena::Frame frame(context.scratch);
  const StepTables tables(*this, context, sequence_rows(step, has_tail()), step.rows, StepTables::Kind::step);
  Pass pass(*this, context, tables, step.observer);
  pass.expect_engram_rows();
  const std::int64_t rows = pass.rows();
  const Values<2> embedding = pass.embed(weights_.embed);
  pass.show(-1, "embed", embedding);
  Pass::Stream stream = pass.start(embedding);

  // The draft stages read the mean of the copies that enter certain layers (spec 6); without them nobody does but an
  // observer.
  const bool wants_means = options_.drafts || step.observer != nullptr;
  const std::int64_t targets = wants_means ? static_cast<std::int64_t>(c.dspark_target_layer_ids.size()) : 0;
  auto main_hidden = context.scratch.take_values<2>(activation_type(), {rows, targets * c.dim});
  for (std::int64_t l = 0; l < c.n_layers; ++l) {
    if (step.stopped != nullptr && (*step.stopped)()) {
      return fail(Errc::stopped, "stopped before layer {} of a step of {} rows", l, rows);
    }
    const BlockWeights& weights = weights_.layers[static_cast<std::size_t>(l)];
    if (weights.engram) {
      if (Status done = pass.engram(l, *weights.engram, stream.h); !done) return done;
    }
    pass.show(l, "in", stream.h);
    for (std::int64_t t = 0; t < targets; ++t) {
      if (c.dspark_target_layer_ids[static_cast<std::size_t>(t)] == l)
        pass.mean_copies(stream.h, main_hidden, t * c.dim);
    }
    if (l == tail_layer() && tables.drops) {
      pass.global_state(l, weights, stream);
      pass.drop_global_only(stream);
      main_hidden = pass.kept(main_hidden);
      if (pass.rows() == 0) break;
    }
    if (Status done = pass.block(l, weights, Pass::Kind::layer, stream); !done) return done;
  }
  if (pass.rows() > 0) {
    if (targets > 0) pass.show(-1, "main_hidden", main_hidden);
    if (options_.drafts && weights_.draft) seed_drafts(pass, main_hidden);
    const Values<2> folded = pass.fold(stream.h, stream.mix);
    pass.show(-1, "final_hidden", folded);
    head(context, pass, folded, logits);
  }
  pass.commit();
  return {};
}

// Logits of the rows that want them. folded: [rows that ran all layers, dim].
void Model::head(Context& context, Pass& pass, ConstValues<2> folded, std::vector<float>& logits) const {
  const Config& c = config();
  const auto& wanted = pass.tables().wanted;
  const std::int64_t n = wanted.extent(0);
  logits.resize(static_cast<std::size_t>(n * c.vocab_size));
  if (n == 0) return;
  const auto last = context.scratch.take_values<2>(activation_type(), {n, c.dim});
  options_.backend->take_rows(context, {bytes_of_rows(folded), pass.tables()[wanted], bytes_of_rows(last)});
  const Values<2> normed = pass.norm(last, weights_.norm);
  if (memory().on_host()) {  // no copy of what may be as large as all scratch
    options_.backend->linear(context, {normed, weights_.head, View<float, 2>(logits.data(), {n, c.vocab_size})});
  } else {
    download(memory(), logits, pass.linear_f32(normed, weights_.head));
  }
}

}  // namespace cachalot
