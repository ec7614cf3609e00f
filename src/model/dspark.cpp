// SPDX-License-Identifier: Apache-2.0
// The draft stages: seeding their windows, and drafting a block. Source: spec 6.
#include <new>

#include "model/pass.h"
#include "tensor/transfer.h"

namespace cachalot {

void Model::seed_drafts(Pass& pass, ConstValues<2> main_hidden) const {
  const DraftWeights& w = *weights_.draft;
  const Values<2> main_x = pass.norm(pass.linear(main_hidden, w.main_proj), w.main_norm);
  for (std::size_t i = 0; i < w.stages.size(); ++i) {
    pass.window_kv(config().n_layers + static_cast<std::int64_t>(i), w.stages[i].attn, main_x);
  }
}

Expected<Drafts> Model::draft(Context& context, std::span<Sequence* const> sequences, std::span<const TokenId> next,
                              const ChooseDraft& choose, Observer* observer) const {
  check(options_.drafts && weights_.draft.has_value(),
        "draft() needs a model with draft stages, loaded with drafts on");
  check(sequences.size() == next.size(), "draft() takes one token per sequence");
  check(&context.memory == &memory(), "a model runs in a context of its memory");
  for (const TokenId t : next) {
    if (Status good = check_token(t); !good) return tl::unexpected(good.error());
  }
  try {
    return draft_blocks(context, sequences, next, choose, observer);
  } catch (const std::bad_alloc&) {
    return fail(Errc::memory, "drafts for {} sequences: not enough memory for their scratch", sequences.size());
  }
}

Expected<Drafts> Model::draft_blocks(Context& context, std::span<Sequence* const> sequences,
                                     std::span<const TokenId> next, const ChooseDraft& choose,
                                     Observer* observer) const {
  const Config& c = config();
  const std::int64_t block = c.dspark_block_size;
  const auto batch = static_cast<std::int64_t>(sequences.size());
  std::vector<SequenceRows> of;
  std::vector<Row> rows;
  for (Sequence* s : sequences) {
    const std::size_t first = rows.size();
    of.push_back({s, static_cast<std::int64_t>(first), block, s->length()});
    rows.resize(first + static_cast<std::size_t>(block),
                {.token = TokenId{static_cast<std::int32_t>(c.dspark_noise_token_id)}});
    rows[first].token = next[of.size() - 1];
  }

  const Arena::Frame frame(context.scratch);
  const StepTables tables(*this, context, std::move(of), rows, StepTables::Kind::draft_block);
  Pass pass(*this, context, tables, observer);
  Pass::Stream stream = pass.start(pass.embed(weights_.embed));
  const DraftWeights& w = *weights_.draft;
  for (std::size_t i = 0; i < w.stages.size(); ++i) {
    const std::int64_t layer = c.n_layers + static_cast<std::int64_t>(i);
    pass.show(layer, "in", stream.h);
    if (Status done = pass.block(layer, w.stages[i], Pass::Kind::draft_stage, stream); !done)
      return tl::unexpected(done.error());
  }
  const Values<2> folded = pass.fold(stream.h, stream.mix);
  const View<float, 2> logits = pass.linear_f32(pass.norm(folded, w.norm), weights_.head);

  // Left to right: each position's logits take in the token drafted before it.
  Drafts drafts;
  drafts.block = block;
  drafts.ids.assign(static_cast<std::size_t>(batch * (1 + block)), TokenId{-1});
  drafts.confidence.resize(static_cast<std::size_t>(batch * block));
  const Backend& ops = *options_.backend;
  const auto fetch = [&](auto& to, std::int64_t at, const auto& from) {
    download(context.memory, std::span(to).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(from.size())),
             from);
  };
  const auto token = context.scratch.take<std::int64_t, 2>({1, 1});
  const auto confidence = context.scratch.take<float, 1>({1});
  const auto best = context.scratch.take<std::int32_t, 1>({1});
  std::vector<float> host(static_cast<std::size_t>(c.vocab_size));
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t before = raw(next[static_cast<std::size_t>(b)]);
    TokenId* const ids = drafts.ids.data() + b * (1 + block);
    ids[0] = TokenId{static_cast<std::int32_t>(before)};
    for (std::int64_t i = 0; i < block; ++i) {
      const std::int64_t r = b * block + i;
      upload(context.memory, token, std::span(&before, 1));
      const Values<2> embedding = pass.lookup(w.markov_embed, token);
      const View<float, 2> row = logits.part(r, 1);
      ops.markov_head(context, {embedding, w.markov_head, row});
      ops.confidence_head(context, {folded.part(r, 1), embedding, w.confidence_proj, confidence});
      fetch(drafts.confidence, r, confidence);
      if (choose) {
        fetch(host, 0, row);
        const std::optional<TokenId> chosen = choose(b, i, host);
        if (!chosen) break;
        ids[1 + i] = *chosen;
      } else {
        ops.argmax(context, {row, best});
        ids[1 + i] = TokenId{downloaded(context.memory, best)[0]};
      }
      before = raw(ids[1 + i]);
    }
  }
  drafts.logits.resize(static_cast<std::size_t>(logits.size()));
  fetch(drafts.logits, 0, logits);
  return drafts;
}

}  // namespace cachalot
