// SPDX-License-Identifier: Apache-2.0
// The forward over rows: embedding, layers, head. Source: spec 1.
#include <algorithm>
#include <cstring>
#include <new>

#include "model/pass.h"

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
  Pass pass(*this, context, sequence_rows(step, has_tail()), step.observer);
  const std::int64_t rows = pass.rows();

  const auto id = context.scratch.take<std::int64_t, 2>({rows, 1});
  std::vector<std::int32_t> token_class(step.rows.size());
  std::vector<std::uint8_t> dead(step.rows.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const Row& row = step.rows[static_cast<std::size_t>(r)];
    id[r][0] = raw(row.token);
    pass.image()[r] = dead[static_cast<std::size_t>(r)] = row.image ? 1 : 0;
    if (!token_class_.empty())
      token_class[static_cast<std::size_t>(r)] = token_class_[static_cast<std::size_t>(raw(row.token))];
  }
  const Values<2> embedding = pass.lookup(weights_.embed, id);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* given = step.rows[static_cast<std::size_t>(r)].embedding;
    for (std::int64_t i = 0; given != nullptr && i < c.dim; ++i) embedding[r].store(i, given[i]);
  }
  pass.show(-1, "embed", embedding);
  Pass::Stream stream = pass.start(embedding);
  View<std::int32_t, 2> classes = ngram_classes(context, pass, token_class);

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
      const auto& columns = engram_columns_[static_cast<std::size_t>(c.engram_index(l))];
      pass.engram(l, *weights.engram, columns, classes, stream.h);
    }
    pass.show(l, "in", stream.h);
    for (std::int64_t t = 0; t < targets; ++t) {
      if (c.dspark_target_layer_ids[static_cast<std::size_t>(t)] == l)
        pass.mean_copies(stream.h, main_hidden, t * c.dim);
    }
    if (l == tail_layer() && pass.has_global_only()) {
      pass.global_state(l, weights, stream);
      pass.drop_global_only(stream);
      if (!classes.empty()) classes = pass.kept(classes);
      main_hidden = pass.kept(main_hidden);
      if (pass.rows() == 0) break;
    }
    pass.block(l, weights, Pass::Kind::layer, stream);
  }
  if (pass.rows() > 0) {
    if (targets > 0) pass.show(-1, "main_hidden", main_hidden);
    if (options_.drafts && weights_.draft) seed_drafts(pass, main_hidden);
    const Values<2> folded = pass.fold(stream.h, stream.mix);
    pass.show(-1, "final_hidden", folded);
    head(context, pass, step, folded, logits);
  }
  pass.commit(token_class, dead);
  return {};
}

// Logits of the rows that want them. folded: [rows that ran all layers, dim].
void Model::head(Context& context, Pass& pass, const Step& step, ConstValues<2> folded,
                 std::vector<float>& logits) const {
  const Config& c = config();
  const auto row_bytes = static_cast<std::size_t>(c.dim * bytes_of(activation_type()));
  const auto wanted = std::ranges::count_if(step.rows, &Row::wants_logits);
  const auto last = context.scratch.take_values<2>(activation_type(), {wanted, c.dim});
  std::int64_t n = 0, r = 0;
  for (const Row& row : step.rows) {
    if (row.global_only && has_tail()) continue;
    if (row.wants_logits) std::memcpy(last[n++].data(), folded[r].data(), row_bytes);
    ++r;
  }
  logits.resize(static_cast<std::size_t>(wanted * c.vocab_size));
  if (wanted == 0) return;
  const View<float, 2> out(logits.data(), {wanted, c.vocab_size});
  options_.backend->linear(context, {pass.norm(last, weights_.norm), weights_.head, out});
}

// Class of the token k back from each row, k = 0 .. max_ngram - 1 (engram.md 5).
View<std::int32_t, 2> Model::ngram_classes(Context& context, const Pass& pass,
                                           std::span<const std::int32_t> token_class) const {
  const Config& c = config();
  if (engram_columns_.empty()) return {};
  const auto classes = context.scratch.take<std::int32_t, 2>({pass.rows(), c.engram_max_ngram_size});
  const std::int32_t pad = token_class_[static_cast<std::size_t>(c.engram_pad_id)];
  std::vector<std::int32_t> back;
  std::vector<std::uint8_t> dead;
  for (const SequenceRows& s : pass.sequences()) {
    for (std::int64_t i = 0; i < s.count; ++i) {
      back.clear();
      dead.clear();
      for (std::int64_t k = 0; k < c.engram_max_ngram_size && s.committed + i - k >= 0; ++k) {
        const bool own = k <= i;
        const std::int64_t row = s.first + i - k;
        const std::int64_t position = s.committed + i - k;
        back.push_back(own ? token_class[static_cast<std::size_t>(row)] : s.sequence->token_class(position));
        dead.push_back(own ? pass.image()[row] : s.sequence->dead(position));
      }
      engram_history(back, dead, pad, classes[s.first + i].span());
    }
  }
  return classes;
}

}  // namespace cachalot
