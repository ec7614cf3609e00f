// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace cachalot {

// A KV source (spec 1): it owns a compressor, a compressed-KV cache and an index-key cache.
struct SourceShape {
  std::int64_t layer;
  std::int64_t ratio;  // tokens a group
};

// The sizes of one sequence's state; equal for all sequences of a model.
struct StateShape {
  std::int64_t rings = 0;   // layers with a window: all of them, then the draft stages
  std::int64_t window = 0;  // W
  std::int64_t slack = 0;   // positions a truncation may take back
  std::int64_t head_dim = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t page_tokens = 0;  // a multiple of every ratio and of the tokens of a candidate block
  std::int64_t history = 0;      // tokens an n-gram looks back
  std::vector<SourceShape> sources;

  std::int64_t ring_slots() const { return window + slack; }
};

// The largest draft block + 1, rounded up to 16: what checking one block of drafts may have to take back.
constexpr std::int64_t slack_for(std::int64_t draft_block) { return (draft_block + 1 + 15) / 16 * 16; }

// A page size for `sources`: at least 256 tokens, whole groups of every source, whole candidate blocks.
std::int64_t page_tokens_for(const std::vector<SourceShape>& sources, std::int64_t candidate_block_size);

}  // namespace cachalot
