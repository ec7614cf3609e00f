// SPDX-License-Identifier: Apache-2.0
#include "engine/draft_source.h"

namespace cachalot {

Status DraftStages::draft(Context& context, std::span<DraftRequest> requests) {
  std::vector<DraftRequest*> asked;
  std::vector<Sequence*> sequences;
  std::vector<TokenId> next;
  for (DraftRequest& r : requests) {
    if (r.count == 0) continue;
    asked.push_back(&r);
    sequences.push_back(r.sequence);
    next.push_back(r.next);
  }
  if (asked.empty()) return {};
  const auto choose = [&](std::int64_t sequence, std::int64_t i,
                          std::span<const float> logits) -> std::optional<TokenId> {
    DraftRequest& r = *asked[static_cast<std::size_t>(sequence)];
    if (i == r.count) return std::nullopt;
    const std::optional<TokenId> drawn = r.draw(i, logits);
    if (drawn) r.drafts.push_back(*drawn);
    return drawn;
  };
  const auto drafted = model_.draft(context, sequences, next, choose);
  return drafted ? Status{} : tl::unexpected(drafted.error());
}

}  // namespace cachalot
