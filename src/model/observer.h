// SPDX-License-Identifier: Apache-2.0
// Watches a forward. Every named tensor passes by as soon as it is computed; the observer may overwrite it, which is
// how verification feeds a layer golden inputs.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

// In lists of what a row attends to, a number >= 0 is a position of the window and -1 is nothing; groups are told apart
// so.
constexpr std::int64_t listed_group(std::int64_t group) { return -2 - group; }
constexpr bool is_listed_group(std::int64_t entry) { return entry <= -2; }
constexpr std::int64_t group_of(std::int64_t entry) { return -2 - entry; }

class Observer {
 public:
  virtual ~Observer() = default;

  // Rows first_row … of the tensor `name`, everything behind the first axis flattened; a large tensor passes by in
  // several parts. Rows are those of the step, in order; for `latent`, `compress_kv`, `k` they are the groups completed
  // in it, by sequence. Their _new is what they decode to once rounded: copies, what is written to them is lost.
  //
  // Names are the layer's and the checkpoint's: embed, layers.N.{engram.{in,embed,kv,gate,out}, in,
  // hc_attn.{pre,post,comb}, attn.{in,qr,latent,compress_kv{,_new},indexer.{k{,_new},q,score},sparse_out,out}, mid,
  // hc_ffn.pre, ffn.{gate_weights,out}, out}, main_hidden, final_hidden. Draft stages are layers n_layers …
  virtual void values(std::string_view name, std::int64_t first_row, Values<2> rows) {
    (void)name, (void)first_row, (void)rows;
  }

  // Whole numbers: layers.N.{engram.hash_ids, attn.topk_idxs (positions and groups, see listed_group),
  // attn.indexer.topk_idxs (groups), attn.indexer.candidates (blocks kept), ffn.gate_indices}. -1 fills up a list.
  virtual void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) {
    (void)name, (void)first_row, (void)rows;
  }
};

}  // namespace cachalot
