// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/packed_rows.h"

namespace cachalot {

// How rows are kept.
inline constexpr RowFormat window_format = RowFormat::e4m3_e8m0_32;
inline constexpr RowLayout window_layout = RowLayout::records;
inline constexpr RowFormat compressed_format = RowFormat::e2m1_e4m3_16;
inline constexpr RowLayout compressed_layout = RowLayout::records;
inline constexpr RowFormat index_key_format = RowFormat::e2m1_e8m0_32;
inline constexpr RowLayout index_key_layout = RowLayout::planes;

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
  // Compressor inputs that are kept: of an unfinished group, or one that a truncation may reopen; none where the ratio
  // is 1.
  std::int64_t input_slots(std::int64_t source) const {
    const std::int64_t ratio = sources[static_cast<std::size_t>(source)].ratio;
    return ratio > 1 ? ratio + slack : 0;
  }
  std::int64_t page_groups(std::int64_t source) const {
    return page_tokens / sources[static_cast<std::size_t>(source)].ratio;
  }
  // Of one layer's ring, of one source's inputs, of a page's compressed rows and of its keys.
  std::int64_t ring_bytes() const { return ring_slots() * row_bytes(window_format, head_dim); }
  std::int64_t input_bytes(std::int64_t source) const {
    return input_slots(source) * row_bytes(RowFormat::f32, 2 * head_dim);
  }
  std::int64_t compressed_page_bytes(std::int64_t source) const {
    return page_groups(source) * row_bytes(compressed_format, head_dim);
  }
  std::int64_t key_page_bytes(std::int64_t source) const {
    return page_groups(source) * row_bytes(index_key_format, index_head_dim);
  }
};

// The largest draft block + 1, rounded up to 16: what checking one block of drafts may have to take back.
constexpr std::int64_t slack_for(std::int64_t draft_block) { return (draft_block + 1 + 15) / 16 * 16; }

// A page size for `sources`: at least 256 tokens, whole groups of every source, whole candidate blocks.
std::int64_t page_tokens_for(const std::vector<SourceShape>& sources, std::int64_t candidate_block_size);

}  // namespace cachalot
