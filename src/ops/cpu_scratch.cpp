// SPDX-License-Identifier: Apache-2.0
#include "ops/cpu_scratch.h"

#include <algorithm>

#include "base/ids.h"
#include "device/cpu/matmul.h"
#include "device/cpu/top_k.h"
#include "ops/attention/indexer/indexer_cpu.h"
#include "ops/attention/sparse_attention/sparse_attention_cpu.h"

namespace cachalot {
namespace {

constexpr std::int64_t f32 = sizeof(float), pointer = sizeof(void*), word = sizeof(std::int64_t);

// load_rows and row_pointers of device/cpu/rows.h.
std::int64_t loaded(std::int64_t rows, std::int64_t in) { return arena_bytes(rows * padded_width(in) * f32); }
std::int64_t pointers(std::int64_t rows) { return arena_bytes(rows * pointer); }

}  // namespace

std::int64_t CpuScratch::matmul(std::int64_t rows) const {
  constexpr std::int64_t lanes = 4 * 16;  // of each row, between two depths of k
  return 2 * pointers(rows) + arena_bytes(threads * rows * lanes * f32);
}

std::int64_t CpuScratch::linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bf16_out) const {
  return loaded(rows, in) + (bf16_out ? arena_bytes(rows * out * f32) : 0) + matmul(rows);
}

std::int64_t CpuScratch::mix(std::int64_t rows, std::int64_t values) const {
  return loaded(rows, values) + arena_bytes(rows * f32) + matmul(rows);
}

std::int64_t CpuScratch::router(std::int64_t rows, std::int64_t dim, std::int64_t experts) const {
  return linear(rows, dim, experts, /*bf16_out=*/true);
}

std::int64_t CpuScratch::expert_ffn(std::int64_t rows, std::int64_t top_k, std::int64_t experts, std::int64_t dim,
                                    std::int64_t inter) const {
  const std::int64_t pairs = rows * top_k;
  const std::int64_t all =
      arena_bytes(experts * word) + arena_bytes(pairs * word) + loaded(rows, dim) + (bf16 ? loaded(pairs, dim) : 0);
  const std::int64_t gate_and_up = 2 * loaded(rows, inter), quantized = bf16 ? loaded(rows, inter) : 0;
  return all + gate_and_up + quantized + 4 * pointers(rows) + matmul(rows);
}

std::int64_t CpuScratch::indexer(std::int64_t rows, std::int64_t heads, std::int64_t width) const {
  const std::int64_t band = std::min(rows, band_rows);
  return arena_bytes(band * heads * width * f32) + arena_bytes(band * heads * f32) + arena_bytes(band * 3 * word) +
         arena_bytes(threads * width * (tile_keys + 1) * f32);
}

std::int64_t CpuScratch::top_k(std::int64_t rows, std::int64_t k, std::int64_t longest) const {
  if (k <= 0) return 0;
  const std::int64_t pieces = top_k_pieces(rows, longest, threads);
  const std::int64_t found =
      pieces == 1 ? 0 : arena_bytes(rows * pieces * k * word) + arena_bytes(rows * pieces * word);
  return arena_bytes(threads * TopK::room_for(k) * word) + found;
}

std::int64_t CpuScratch::sparse_attention(std::int64_t rows, std::int64_t heads, std::int64_t head_dim,
                                          std::int64_t listed) const {
  const std::int64_t padded = ceil_div<std::int64_t>(head_dim, 32) * 32;
  const std::int64_t row =
      2 * arena_bytes(heads * padded * f32) + arena_bytes(heads * block_entries * f32) + 3 * arena_bytes(heads * f32);
  const auto slots = [&](std::int64_t entries) {
    return arena_bytes(ceil_div(entries, slot_group) * slot_group * (padded + 16) * f32);
  };
  if (rows < threads) return row + slots(listed) + arena_bytes(listed * word);
  return arena_bytes(threads * static_cast<std::int64_t>(sizeof(AttentionRow))) +
         arena_bytes(threads * static_cast<std::int64_t>(sizeof(View<float, 2>))) +
         arena_bytes(threads * listed * word) + threads * (row + slots(block_entries));
}

std::int64_t CpuScratch::output_projection(std::int64_t rows, std::int64_t in, std::int64_t o_lora) const {
  const std::int64_t ahead = o_lora % 32 == 0 ? 0 : 31;  // rows of a scale block that a group begins within
  return linear(rows, in, o_lora + ahead, bf16 || ahead > 0);
}

std::int64_t CpuScratch::markov_head(std::int64_t rank, std::int64_t vocab) const {
  return linear(1, rank, vocab, /*bf16_out=*/true);
}

std::int64_t CpuScratch::confidence_head(std::int64_t dim, std::int64_t rank) const {
  return loaded(1, dim) + loaded(1, rank) + loaded(1, dim + rank) + matmul(1);
}

std::int64_t CpuScratch::sinkhorn(std::int64_t hc) const {
  return arena_bytes(threads * hc * f32) + arena_bytes(threads * hc * hc * f32);
}

std::int64_t CpuScratch::unfold(std::int64_t hc) const { return arena_bytes(threads * hc * 16 * f32); }

std::int64_t CpuScratch::combine(std::int64_t top_k) const { return arena_bytes(threads * top_k * word); }

std::int64_t CpuScratch::rope(std::int64_t rope_dim) const { return loaded(2 * threads, rope_dim / 2); }

std::int64_t CpuScratch::decoded_row(std::int64_t width) const { return loaded(threads, width); }

}  // namespace cachalot
