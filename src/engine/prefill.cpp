// SPDX-License-Identifier: Apache-2.0
#include "engine/prefill.h"

#include <algorithm>

namespace cachalot {

const char* name(Prefill prefill) { return prefill == Prefill::exact ? "exact" : "replay"; }

std::int64_t tail_start(const Model& model, Prefill prefill, std::int64_t first, std::int64_t end) {
  if (prefill == Prefill::exact || !model.has_tail()) return first;
  return std::max(first, end - model.tail_rows());
}

Status check_prefill(Prefill prefill, const Sequence& sequence, std::int64_t total) {
  if (prefill == Prefill::exact && sequence.replayed()) {
    return fail(Errc::usage,
                "an exact prompt behind a replayed one would not be exact: the sequence has no whole windows before "
                "position {}; begin a new one, or replay this prompt too",
                sequence.tail_start());
  }
  if (const std::int64_t last = sequence.length() + total - 1; !sequence.whole_window_at(last)) {
    return fail(Errc::usage,
                "the sequence was left within a replayed prompt, and has no whole window at position {}, where this "
                "prompt of {} tokens ends: give the rest of that prompt, or begin a new sequence",
                last, total);
  }
  return {};
}

void LayerTokens::add(const Model& model, std::int64_t rows, std::int64_t global_only) {
  const std::int64_t layers = model.config().n_layers;
  run += rows * layers - global_only * (layers - model.tail_layer());
  exact += rows * layers;
}

}  // namespace cachalot
