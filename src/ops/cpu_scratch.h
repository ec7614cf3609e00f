// SPDX-License-Identifier: Apache-2.0
// What each operator of the CPU backend takes from the arena while it runs, from the shapes it is given alone: for
// planning, before anything is allocated. Whoever changes what a kernel takes changes its line here; tests/ compares
// whole steps with what the arena says. The reference operators keep what they need in vectors of about this size.
#pragma once

#include <cstdint>

namespace cachalot {

struct CpuScratch {
  std::int64_t threads = 1;
  bool bf16 = true;  // the type of activations; else f32

  // Where the result is bf16 its sums are taken too; f32 results are summed in place.
  std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bf16_out) const;
  std::int64_t mix(std::int64_t rows, std::int64_t values) const;
  std::int64_t router(std::int64_t rows, std::int64_t dim, std::int64_t experts) const;
  // At most: as if every row had chosen the same expert too.
  std::int64_t expert_ffn(std::int64_t rows, std::int64_t top_k, std::int64_t experts, std::int64_t dim,
                          std::int64_t inter) const;
  std::int64_t indexer(std::int64_t rows, std::int64_t heads, std::int64_t width) const;
  std::int64_t top_k(std::int64_t rows, std::int64_t k, std::int64_t longest) const;  // selection, candidates
  std::int64_t sparse_attention(std::int64_t rows, std::int64_t heads, std::int64_t head_dim,
                                std::int64_t listed) const;
  std::int64_t output_projection(std::int64_t rows, std::int64_t in, std::int64_t o_lora) const;
  std::int64_t markov_head(std::int64_t rank, std::int64_t vocab) const;
  std::int64_t confidence_head(std::int64_t dim, std::int64_t rank) const;
  std::int64_t sinkhorn(std::int64_t hc) const;
  std::int64_t unfold(std::int64_t hc) const;
  std::int64_t combine(std::int64_t top_k) const;
  std::int64_t rope(std::int64_t rope_dim) const;
  std::int64_t decoded_row(std::int64_t width) const;  // encode_rows, lookup

 private:
  std::int64_t matmul(std::int64_t rows) const;
};

// Bytes of the arena that so many bytes take: whole cache lines.
constexpr std::int64_t arena_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace cachalot
