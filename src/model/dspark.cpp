// SPDX-License-Identifier: Apache-2.0
// The draft stages: seeding their windows, and drafting a block. Source: spec 6.
#include <new>

#include "model/pass.h"

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
  for (const TokenId t : next) {
    if (Status good = check_token(t); !good) return tl::unexpected(good.error());
  }
  try {
    return draft_blocks(context, sequences, next, choose, observer);
  } catch (const std::bad_alloc&) {
    return fail(Errc::memory, "drafts for {} sequences: not enough memory for their scratch", sequences.size());
  }
}

Drafts Model::draft_blocks(Context& context, std::span<Sequence* const> sequences, std::span<const TokenId> next,
                           const ChooseDraft& choose, Observer* observer) const {
  const Config& c = config();
  const std::int64_t block = c.dspark_block_size;
  const auto batch = static_cast<std::int64_t>(sequences.size());
  std::vector<SequenceRows> rows;
  for (Sequence* s : sequences) rows.push_back({s, static_cast<std::int64_t>(rows.size()) * block, block, s->length()});

  const Arena::Frame frame(context.scratch);
  Pass pass(*this, context, rows, observer);
  const auto id = context.scratch.take<std::int64_t, 2>({pass.rows(), 1});
  for (std::int64_t r = 0; r < pass.rows(); ++r) {
    id[r][0] = r % block == 0 ? raw(next[static_cast<std::size_t>(r / block)]) : c.dspark_noise_token_id;
  }
  Pass::Stream stream = pass.start(pass.lookup(weights_.embed, id));
  const DraftWeights& w = *weights_.draft;
  for (std::size_t i = 0; i < w.stages.size(); ++i) {
    const std::int64_t layer = c.n_layers + static_cast<std::int64_t>(i);
    pass.show(layer, "in", stream.h);
    pass.block(layer, w.stages[i], Pass::Kind::draft_stage, stream);
  }
  const Values<2> folded = pass.fold(stream.h, stream.mix);
  const View<float, 2> logits = pass.linear_f32(pass.norm(folded, w.norm), weights_.head);

  // Left to right: each position's logits take in the token drafted before it.
  Drafts drafts;
  drafts.block = block;
  drafts.ids.assign(static_cast<std::size_t>(batch * (1 + block)), TokenId{-1});
  drafts.confidence.resize(static_cast<std::size_t>(batch * block));
  const Backend& ops = *options_.backend;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t token = raw(next[static_cast<std::size_t>(b)]);
    TokenId* const ids = drafts.ids.data() + b * (1 + block);
    ids[0] = TokenId{static_cast<std::int32_t>(token)};
    for (std::int64_t i = 0; i < block; ++i) {
      const std::int64_t r = b * block + i;
      const Values<2> embedding = pass.lookup(w.markov_embed, View<const std::int64_t, 2>(&token, {1, 1}));
      const View<float, 2> row = logits.part(r, 1);
      ops.markov_head(context, {embedding, w.markov_head, row});
      ops.confidence_head(context, {folded.part(r, 1), embedding, w.confidence_proj,
                                    View<float, 1>(&drafts.confidence[static_cast<std::size_t>(r)], {1})});
      if (choose) {
        const std::optional<TokenId> chosen = choose(b, i, row[0].span());
        if (!chosen) break;
        ids[1 + i] = *chosen;
      } else {
        std::int32_t best = 0;
        ops.argmax(context, {row, View<std::int32_t, 1>(&best, {1})});
        ids[1 + i] = TokenId{best};
      }
      token = raw(ids[1 + i]);
    }
  }
  drafts.logits.assign(logits.data(), logits.data() + logits.size());
  return drafts;
}

}  // namespace cachalot
