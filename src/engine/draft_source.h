// SPDX-License-Identifier: Apache-2.0
// Who guesses what comes next. A guess is checked by the model in the same forward that runs it, and stands while it is
// the very token that the row before it yields (spec 6): a source decides about speed, never about the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/ids.h"
#include "model/model.h"

namespace cachalot {

// What one sequence is asked for, and what it got.
struct DraftRequest {
  Sequence* sequence = nullptr;
  TokenId next{};          // drawn and not yet run: it will stand at sequence->length()
  std::int64_t count = 0;  // drafts behind `next` at most
  // The token that would be drawn from such logits as draft number i, from 0; none where no token is possible.
  std::function<std::optional<TokenId>(std::int64_t i, std::span<const float> logits)> draw{};
  std::vector<TokenId> drafts{};  // the answer: `count` of them or fewer
};

class DraftSource {
 public:
  virtual ~DraftSource() = default;

  // The most drafts it can give.
  virtual std::int64_t block() const = 0;

  // Fills in the drafts of each request. Changes no sequence.
  virtual Status draft(Context& context, std::span<DraftRequest> requests) = 0;
};

// The model's own draft stages. The model was loaded with drafts on.
class DraftStages : public DraftSource {
 public:
  explicit DraftStages(const Model& model) : model_(model) {}

  std::int64_t block() const override { return model_.config().dspark_block_size; }
  Status draft(Context& context, std::span<DraftRequest> requests) override;

 private:
  const Model& model_;
};

}  // namespace cachalot
