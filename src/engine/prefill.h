// SPDX-License-Identifier: Apache-2.0
// How a prompt is run. Source: spec 11.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "model/model.h"

namespace cachalot {

// `replay` is an APPROXIMATION: layers from the last KV source on run a prompt's tail only, its last window of
// positions, whose windows begin in the tail. All state that grows with the prompt is exact, and so is a prompt no
// longer than the tail. Nothing that goes on from a replayed sequence passes for exact. Its bits do not hang on chunks,
// batch, threads or drafts; but on what the sequence held before the prompt, so on what a prefix cache had.
enum class Prefill { exact, replay };
const char* name(Prefill prefill);

// Where the tail begins of a prompt that stands at positions first … end - 1: `first` where all of it runs all layers.
// It depends on the whole prompt, so chunks never change it. A prompt shorter than the tail continues what the sequence
// has: its windows reach into earlier positions, as far as those ran all layers themselves.
std::int64_t tail_start(const Model& model, Prefill prefill, std::int64_t first, std::int64_t end);

// Errors, Errc::usage: an exact prompt behind a replayed one, which would pass for exact; a prompt of `total` tokens
// that is not the rest of the one that was interrupted in the midst of a replay, and leaves the last position without a
// whole window.
Status check_prefill(Prefill prefill, const Sequence& sequence, std::int64_t total);

// Products of layers and positions, of a prompt: what a prefill costs, but for the head. Compressor and index keys of
// the last KV source are left out where the rest of its layer did not run.
struct LayerTokens {
  std::int64_t run = 0;
  std::int64_t exact = 0;  // what an exact prefill of the same positions would have run

  void add(const Model& model, std::int64_t rows, std::int64_t global_only);
  void add(const LayerTokens& other) { run += other.run, exact += other.exact; }
};

}  // namespace cachalot
