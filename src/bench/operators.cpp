// SPDX-License-Identifier: Apache-2.0
#include "bench/operators.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace cachalot {

std::span<const OperatorBench> operator_benches() {
  static constexpr std::array<OperatorBench, operator_names.size()> benches = {
      {{"linear", linear_bench},
       {"rms_norm", rms_norm_bench},
       {"rope", rope_bench},
       {"lookup", lookup_bench},
       {"encode_rows", encode_rows_bench},
       {"take_rows", take_rows_bench},
       {"commit_rows", commit_rows_bench},
       {"argmax", argmax_bench},
       {"compressor", compressor_bench},
       {"indexer", indexer_bench},
       {"candidates", candidates_bench},
       {"selection", selection_bench},
       {"sparse_attention", sparse_attention_bench},
       {"output_projection", output_projection_bench},
       {"router", router_bench},
       {"expert_ffn", expert_ffn_bench},
       {"combine", combine_bench},
       {"mix", mix_bench},
       {"sinkhorn", sinkhorn_bench},
       {"fold", fold_bench},
       {"unfold", unfold_bench},
       {"engram_gate", engram_gate_bench},
       {"markov_head", markov_head_bench},
       {"confidence_head", confidence_head_bench}}};
  static_assert(std::ranges::equal(benches, operator_names, {}, &OperatorBench::op), "one for each, in its place");
  return benches;
}

Expected<std::vector<OperatorBench>> find_benches(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(operator_names, name) == operator_names.end()) {
      return fail(Errc::usage, "bench: no operator is called {}; there are {}", name,
                  shown_list(operator_names, operator_names.size()));
    }
  }
  std::vector<OperatorBench> found;
  for (const OperatorBench& b : operator_benches()) {
    if (names.empty() || std::ranges::find(names, b.op) != names.end()) found.push_back(b);
  }
  return found;
}

}  // namespace cachalot
