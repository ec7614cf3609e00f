// SPDX-License-Identifier: Apache-2.0
// Every operator's benchmark: ops/…/X_bench.cpp holds X_bench, with the released model's shapes.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "bench/bench.h"

namespace cachalot {

void linear_bench(Bench& bench);
void rms_norm_bench(Bench& bench);
void rope_bench(Bench& bench);
void lookup_bench(Bench& bench);
void encode_rows_bench(Bench& bench);
void take_rows_bench(Bench& bench);
void commit_rows_bench(Bench& bench);
void argmax_bench(Bench& bench);
void compressor_bench(Bench& bench);
void indexer_bench(Bench& bench);
void candidates_bench(Bench& bench);
void selection_bench(Bench& bench);
void sparse_attention_bench(Bench& bench);
void output_projection_bench(Bench& bench);
void router_bench(Bench& bench);
void expert_ffn_bench(Bench& bench);
void combine_bench(Bench& bench);
void mix_bench(Bench& bench);
void sinkhorn_bench(Bench& bench);
void fold_bench(Bench& bench);
void unfold_bench(Bench& bench);
void engram_gate_bench(Bench& bench);
void markov_head_bench(Bench& bench);
void confidence_head_bench(Bench& bench);

struct OperatorBench {
  std::string_view op;
  void (*run)(Bench&);
};

// In the order of operator_names.
std::span<const OperatorBench> operator_benches();

// Those named, in the order of operator_names; all of them where none is. Error: Errc::usage, with the names there are.
Expected<std::vector<OperatorBench>> find_benches(std::span<const std::string> names);

}  // namespace cachalot
